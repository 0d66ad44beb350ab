# Carina in a container: the wheel in an environment of its own, without build tools, for a user who is not root.
FROM python:3.11-slim-trixie AS build
WORKDIR /build
RUN python -m venv /opt/carina
COPY requirements.lock requirements-embedding.lock pyproject.toml README.md LICENSE ./
RUN /opt/carina/bin/pip install --no-cache-dir --require-hashes -r requirements.lock \
 && /opt/carina/bin/pip install --no-cache-dir --no-deps --require-hashes -r requirements-embedding.lock
COPY . .
RUN /opt/carina/bin/pip install --no-cache-dir --no-deps --no-build-isolation . \
 && /opt/carina/bin/pip uninstall --yes hatchling editables pathspec pluggy trove-classifiers setuptools pip

FROM python:3.11-slim-trixie
RUN useradd --create-home --uid 10001 carina && install -d -o carina -g carina -m 0700 /data
COPY --from=build /opt/carina /opt/carina
ENV PATH=/opt/carina/bin:$PATH CARINA_HOME=/data PYTHONUNBUFFERED=1
USER 10001
WORKDIR /config
VOLUME /data
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8480/readyz', timeout=5)"]
ENTRYPOINT ["carina"]
CMD ["run", "--log-json"]
