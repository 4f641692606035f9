"""python -m lab.exporter: serves /metrics until it is stopped."""

import logging
import os
import threading

from prometheus_client import ProcessCollector, start_http_server

from lab.errors import BadInput
from lab.exporter.exporter import Exporter, registry
from lab.exporter.settings import PORT, read


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs every request
    try:
        settings = read(os.environ)
    except BadInput as error:
        raise SystemExit(f"error: {error.message}\nhint: {error.hint}") from None
    exporter = Exporter(settings)
    metrics = registry(exporter)
    ProcessCollector(registry=metrics)  # what the exporter itself costs
    start_http_server(PORT, registry=metrics)
    exporter.run(threading.Event())


if __name__ == "__main__":
    main()
