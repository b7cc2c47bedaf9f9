# The tutorial's settings, each before a model and inputs that the reader has.
import torch
import hidet

model = torch.hub.load('pytorch/vision:v0.9.0', 'resnet18', pretrained=True).cuda().eval()
inputs = torch.randn(1, 3, 224, 224).cuda()

with torch.no_grad():
    # optimize the model with hidet provided backend 'hidet'
    model_hidet = torch.compile(model, backend='hidet')
    model_hidet(inputs)

    # There are three search spaces:
    # 0 - use default schedule, no search [Default]
    # 1 - search in a small schedule space (usually 1~30 schedules)
    # 2 - search in a large schedule space (usually more than 30 schedules)
    hidet.torch.dynamo_config.search_space(2)

    # After configure the search space, you can optimize the model
    model_opt = torch.compile(model, backend='hidet')

    # The actual searching happens when you first run the model to know the input shapes
    outputs = model_opt(inputs)
    torch.testing.assert_close(outputs, model(inputs), rtol=1e-4, atol=1e-4)
