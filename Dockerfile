# `lapwing serve` as an image: no compiler, no root, nothing written.
#
#   docker build -t lapwing .
#   docker run --read-only --cap-drop ALL --security-opt no-new-privileges -e LAPWING_TOKEN="$TOKEN" \
#     -v "$PWD/news.lapwing:/models/model.lapwing:ro" -p 8000:8000 lapwing
#
# An image that trains: ENV NUMBA_CACHE_DIR=/opt/lapwing/kernels, and RUN lapwing warm-up.
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/lapwing && /opt/lapwing/bin/pip install --no-cache-dir ".[serve]"

FROM python:3.12-slim
COPY --from=build /opt/lapwing /opt/lapwing
ENV PATH=/opt/lapwing/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /models
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/health', timeout=2)"]
ENTRYPOINT ["lapwing", "serve", "--host", "0.0.0.0"]
CMD ["/models/model.lapwing"]
