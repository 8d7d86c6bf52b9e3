"""Clouds, tools, products and protocols, written as :mod:`~ramet.jobs.text.technology_names` tells."""

from __future__ import annotations

CLOUD = """
aws: amazon web services|^AWS|aws cloud
google cloud: gcp|google cloud platform|google cloud services
azure: microsoft azure|ms azure|azure cloud
ibm cloud:
oracle cloud: ^OCI
digitalocean: digital ocean
heroku:
vercel: =Vercel
netlify:
cloudflare workers:
openstack:
vmware: vsphere|vcenter|vmware vsphere
lambda: ?Lambda|aws lambda|lambda functions|aws lambdas|^Lambdas
ec2: amazon ec2|aws ec2
ecs: ^ECS|aws ecs|amazon ecs
eks: ^EKS|aws eks
fargate: aws fargate
rds: ^RDS|amazon rds|aws rds
aurora: ?Aurora|amazon aurora|aurora postgresql|aws aurora
sqs: ^SQS|aws sqs|amazon sqs
sns: ^SNS|aws sns
kinesis: =Kinesis|amazon kinesis|aws kinesis
athena: ?Athena|amazon athena|aws athena
aws glue: ?Glue
emr: ?EMR|amazon emr|aws emr
step functions: aws step functions
api gateway: amazon api gateway|aws api gateway
cloudwatch: aws cloudwatch|amazon cloudwatch
cloudfront:
cloudformation: aws cloudformation
cdk: ^CDK|aws cdk
aws bedrock: ?Bedrock|amazon bedrock
sagemaker: aws sagemaker|amazon sagemaker|sage maker
eventbridge: event bridge
cognito: =Cognito
azure devops: ado pipelines
azure functions: azure function
azure pipelines:
azure data factory: ^ADF
azure ai: azure ai studio|azure ai foundry|azure openai|azure ai services
azure synapse: synapse analytics
aks: ^AKS
cosmos db: cosmosdb|azure cosmos db
azure service bus:
gke: ^GKE
cloud run: google cloud run
pub/sub: pubsub|google pubsub
dataflow: ?Dataflow|google dataflow
vertex ai: google vertex ai|google vertex|vertexai
docker: dockerfile
kubernetes: k8s|kubernetes/k8s
helm: ?Helm|helm charts
openshift: red hat openshift
rancher: =Rancher
podman:
istio:
envoy: ?Envoy
nginx:
apache http server: ?Apache|apache httpd
tomcat: apache tomcat
terraform: terragrunt
pulumi:
sst: ^SST
ansible:
puppet: ?Puppet
chef: ?Chef
saltstack:
vault: ?Vault|hashicorp vault
consul: ?Consul|hashicorp consul
nomad: ?Nomad|hashicorp nomad
packer: ?Packer
vagrant: =Vagrant
jenkins:
github actions: github action|gh actions
gitlab ci: gitlab ci/cd|gitlabci|gitlab pipelines
circleci: circle ci
travis ci: travisci
teamcity:
buildkite:
bitrise:
bamboo: ?Bamboo
argo cd: argocd|=Argo
flux: ?Flux|fluxcd
spinnaker: =Spinnaker
bazel: =Bazel
maven: =Maven
gradle:
artifactory: jfrog
sonarqube: sonar qube
git:
github: ?GitHub|?Github
gitlab:
bitbucket:
subversion: ^SVN
perforce:
linux: rhel|red hat enterprise linux|ubuntu|centos|debian
unix: =Unix
windows server:
prometheus: =Prometheus
grafana:
datadog: =Datadog|data dog
new relic: newrelic
splunk:
dynatrace:
appdynamics:
sentry: ?Sentry
opentelemetry: open telemetry|otel
jaeger: =Jaeger
honeycomb: ?Honeycomb
pagerduty: pager duty
logstash:
kibana:
fluentd: fluent bit
ebpf:
"""

PRODUCTS = """
tensorflow: tensor flow
pytorch: py torch
keras:
jax: ^JAX
scikit-learn: sklearn|scikit learn|sci-kit learn
xgboost:
lightgbm:
hugging face: huggingface
transformers: ?Transformers
langchain: lang chain
langgraph:
llamaindex: llama index
langsmith:
langfuse:
crewai: crew ai
autogen: =AutoGen
semantic kernel:
dspy: ^DSPy
vllm:
ollama:
mlflow: ml flow
kubeflow:
ray: ?Ray|ray serve
openai: open ai
anthropic:
github copilot: ?Copilot|microsoft copilot|ms copilot
spacy:
nltk:
opencv: open cv
tensorrt:
triton: ?Triton
power platform: microsoft power platform
power apps: powerapps
power automate: powerautomate
dataverse:
ai builder:
copilot studio:
sharepoint: share point
dynamics 365: d365|ms dynamics|microsoft dynamics
active directory: azure ad|azure active directory
microsoft entra id: entra id|=Entra|azure entra
okta: =Okta
auth0:
keycloak:
oauth: oauth2|oauth 2.0|oauth2.0
openid connect: oidc|openid
saml: saml2|saml 2.0
ldap:
scim: ^SCIM
jwt: ^JWT|json web tokens
soap: ^SOAP
rest: ^REST|rest api|rest apis|restful|restful api|restful apis|restapi|restful services|rest services
grpc:
websockets: websocket|web sockets
webrtc:
mqtt:
openapi: swagger
kong: ?Kong
apigee:
mulesoft: mule soft|mule esb|anypoint|mule 4|mule 3
boomi: =Boomi|dell boomi
salesforce: =Salesforce|^SFDC|salesforce.com|sales cloud|service cloud|salesforce crm
visualforce:
lightning web components: ^LWC|lightning components
marketing cloud: salesforce marketing cloud
servicenow: service now
workday: ?Workday
hubspot:
zendesk:
stripe: ?Stripe|stripe api|stripe connect
twilio:
sap: ^SAP
sap hana: s/4hana|s/4 hana|s4hana|s4 hana|sap s/4hana
sap ecc:
sap data services: sap bods
netsuite:
oracle ebs: oracle e-business suite
peoplesoft:
bmc helix: helix itsm
bmc remedy: ?Remedy
ge proficy: ge proficy historian|proficy
acquia:
ddev:
contentful:
sitecore:
adobe experience manager: ^AEM
jira: atlassian jira
confluence: ?Confluence|atlassian confluence
figma:
postman: =Postman
selenium: =Selenium|selenium webdriver
cypress: =Cypress|cypress.io
playwright: =Playwright
puppeteer:
appium:
jest: =Jest
vitest:
mocha: ?Mocha
jasmine: ?Jasmine
react testing library:
capybara: =Capybara
rspec:
pytest: py test
junit:
testng:
mockito:
cucumber: =Cucumber
robot framework:
k6: ^k6|^K6
jmeter:
gatling: =Gatling
locust: ?Locust
testrail:
autocad: auto cad
civil 3d: civil3d
revit: =Revit
solidworks:
blender: ?Blender
photoshop: adobe photoshop
plc: ^PLC|^PLCs
scada: ^SCADA
labview:
fpga: ^FPGA|^FPGAs
freertos:
yocto:
arm: ?ARM
can bus: canbus
tcp/ip:
dns: ^DNS
blockchain: block chain
ethereum:
bitcoin: =Bitcoin
hyperledger:
web3: web 3
hardhat: =Hardhat
foundry: ?Foundry
temporal: ?Temporal|temporal.io
camunda:
crowdstrike:
wireshark:
burp suite:
metasploit:
siem: ^SIEM
segment: ?Segment
amplitude: ?Amplitude
mixpanel:
google analytics: ga4
launchdarkly:
retool:
zapier:
n8n:
webview:
machine learning: ^ML|ml/ai|ai/ml
deep learning:
computer vision:
natural language processing: ^NLP
llm: ^LLM|^LLMs|llms|large language model|large language models
ci/cd: ci cd|^CICD|^CI/CD
microservices: micro-services|microservice
"""
