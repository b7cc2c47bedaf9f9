"""hidet.torch, under the name that Hidet has for it."""

from hidet.torch import DynamoConfig, dynamo_config, hidet_backend

__all__ = ["DynamoConfig", "dynamo_config", "hidet_backend"]
