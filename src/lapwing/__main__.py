"""python -m lapwing"""

from lapwing.cli import main

main()
