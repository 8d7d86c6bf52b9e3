"""Models, tests, and what whole industries work with.

Written as :mod:`~ramet.jobs.text.technology_names` tells.
"""

from __future__ import annotations

MODELS = """
catboost:
weights & biases: weights and biases|wandb|^W&B
dvc: ^DVC
feast: ?Feast
bentoml:
kserve:
torchserve:
onnx:
openvino:
deepspeed:
megatron:
sglang:
llama: ?Llama|llama 3
gemini: ?Gemini|google gemini
mistral: ?Mistral
cohere: ?Cohere
gpt-4: gpt4|gpt-4o
stable diffusion:
rasa: ?Rasa
dialogflow:
haystack: ?Haystack
pydanticai:
mcp: ^MCP|model context protocol
rag: ^RAG|retrieval-augmented generation|retrieval augmented generation
opencl:
directx:
hlsl:
glsl:
godot:
houdini: =Houdini
maya: ?Maya|autodesk maya
"""

TESTS = """
webdriverio: webdriver.io
detox: ?Detox
espresso: ?Espresso
xctest:
xcuitest:
soapui:
rest assured: restassured
karate: ?Karate
specflow:
nunit:
xunit: xunit.net
mstest:
phpunit:
minitest:
chai: ?Chai
sinon: ?Sinon
enzyme: ?Enzyme
testcafe:
browserstack:
sauce labs: saucelabs
loadrunner:
blazemeter:
qtest:
"""

ENTERPRISE = """
sap fiori: fiori
sapui5: ui5
sap btp: ^BTP
sap bw: bw/4hana
sap fico: ^FICO
successfactors: sap successfactors
sap ariba: ariba
oracle apex:
oracle fusion: oracle cloud erp|fusion middleware
obiee:
suitescript:
jd edwards:
guidewire:
duck creek:
pega: =Pega|pegasystems
appian:
outsystems:
mendix:
uipath:
automation anywhere:
blue prism:
vlocity: omnistudio
ncino:
veeva:
pardot: salesforce pardot
marketo:
eloqua:
braze: ?Braze
klaviyo:
iterable: ?Iterable
zoho:
adobe analytics:
illustrator: ?Illustrator|adobe illustrator
after effects: adobe after effects
indesign:
adobe creative suite: adobe creative cloud
adobe xd:
sketch: ?Sketch
plaid: ?Plaid
adyen:
braintree:
zuora:
twilio segment:
epic: ?Epic|epic ehr
cerner:
hl7: ^HL7
fhir: ^FHIR
dicom: ^DICOM
edi: ^EDI
primavera p6:
bluebeam:
microstation:
navisworks:
sketchup:
catia:
creo: ?Creo
ansys:
abaqus:
nastran:
comsol:
etabs:
staad: staad pro
hec-ras:
simulink:
altium: altium designer
orcad:
vivado:
uvm: ^UVM
rtos: ^RTOS|zephyr rtos
vxworks:
qnx: ^QNX
embedded linux:
stm32:
esp32:
i2c: ^I2C
spi: ^SPI
uart: ^UART
modbus:
opc ua: opc-ua
bluetooth: ^BLE|bluetooth low energy
zigbee:
autosar:
isaac sim:
gazebo: =Gazebo
cmake:
boost: ?Boost
dpdk:
bgp: ^BGP
ospf: ^OSPF
mpls: ^MPLS
sd-wan:
"""
