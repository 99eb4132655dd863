"""Somebody on loopback who receives metrics over OTLP/HTTP, and decodes them."""

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module


class Receiver:
    """What somebody who receives OTLP/HTTP got: requests and their headers."""

    def __init__(self):
        self.requests, self.headers, self.answers = [], [], []
        of, protocol = self, import_module("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                assert self.path == "/v1/metrics"
                assert self.headers["Content-Type"] == "application/x-protobuf"
                code = of.answers.pop(0) if of.answers else 200
                if code == 200:
                    of.headers.append(dict(self.headers))
                    of.requests.append(protocol.ExportMetricsServiceRequest.FromString(body))
                self.send_response(code)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *said):
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        self.address = f"{self.base}/v1/metrics"
        self._thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self._thread.start()

    def close(self):
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()


def metrics(request):
    """The metrics of a request by name."""
    return {m.name: m for r in request.resource_metrics for scope in r.scope_metrics for m in scope.metrics}


def points(metric):
    return getattr(metric, metric.WhichOneof("data")).data_points


def labels(point):
    return {each.key: each.value.string_value for each in point.attributes}


def value(point):
    return getattr(point, point.WhichOneof("value"))


def values(request):
    """Those of all metrics but histograms, of which each has many."""
    return {
        (name, tuple(sorted(labels(point).items()))): value(point)
        for name, metric in metrics(request).items()
        if not metric.HasField("histogram")
        for point in points(metric)
    }
