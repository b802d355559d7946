#!/usr/bin/env bash
# What the Dockerfile does, where there is no daemon: its build steps in an environment of their own, then the server
# without root, without capabilities, on a file system that nothing can be written to. Needs root, for the namespace.
#
#   scripts/try_image.sh MODEL
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
model=$(realpath "$1") work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir "$work/src" && cp -r pyproject.toml README.md LICENSE src "$work/src"
"${PYTHON:-python3}" -m venv "$work/lapwing" && "$work/lapwing/bin/pip" install --quiet --no-cache-dir "$work/src[serve]"
cp "$model" "$work/model.lapwing" && chmod 644 "$work/model.lapwing"

unshare --mount bash -euo pipefail -c '
  mount --make-rprivate /
  for place in $(cut -d" " -f2 /proc/mounts | grep -Ev "^/(proc|sys|dev)" | sort -u); do mount -o remount,ro,bind "$place" || true; done 2>/dev/null
  if touch "$0/written" 2>/dev/null; then echo "the file system can be written to"; exit 1; fi
  export PATH=$0/lapwing/bin:$PATH PYTHONDONTWRITEBYTECODE=1 LAPWING_TOKEN=0123456789abcdef HOME=/ port=${PORT:-18431}
  setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all \
    lapwing serve --host 0.0.0.0 --port "$port" "$0/model.lapwing" &
  trap "kill $!" EXIT
  for _ in $(seq 60); do curl --silent --fail "localhost:$port/health" && break; sleep 1; done
  grep Uid "/proc/$!/status"
  ask() { curl --silent --fail -H "Authorization: Bearer $LAPWING_TOKEN" "$@"; }
  ask -H "Content-Type: application/json" -d "{\"text\": \"a car\", \"top\": 2}" "localhost:$port/v1/classify"
  ask "localhost:$port/metrics" | grep lapwing_info
' "$work"
