"""Technologies of web pages, platforms and data.

Written as :mod:`~ramet.jobs.text.technology_names` tells.
"""

from __future__ import annotations

WEB = """
alpine.js: alpinejs
htmx:
hotwire: ?Hotwire|hotwire/turbo
stimulus: ?Stimulus|stimulusjs
livewire:
apollo: ?Apollo|apollo client|apollo graphql|apollo server
relay: ?Relay
tanstack: react query|tanstack query
zustand:
mobx:
rxjs:
ngrx:
chakra ui:
ant design: antd
shadcn: shadcn/ui
radix: radix ui
framer motion:
gsap:
webflow:
sanity: ?Sanity
strapi:
contentstack:
hugo: ?Hugo
jekyll:
bigcommerce:
squarespace:
liquid: ?Liquid|shopify liquid
hydrogen: ?Hydrogen
umbraco:
kentico:
joomla:
typo3:
codeigniter:
cakephp:
yii: yii2
zend: zend framework|laminas
handlebars: ?Handlebars
mustache: ?Mustache
knockout: ?Knockout|knockoutjs|knockout.js
polymer: ?Polymer
stencil: ?Stencil|stenciljs
web components:
pwa: ^PWA|progressive web apps
ajax: ^AJAX|=Ajax
trpc: ^tRPC
hono: ?Hono
koa: ?Koa|koa.js
hapi: ?Hapi|hapi.js
meteor: ?Meteor|meteor.js
socket.io:
sequelize:
typeorm:
mongoose: ?Mongoose
drizzle: ?Drizzle|drizzle orm
leaflet: ?Leaflet|leaflet.js
mapbox:
cesium: ?Cesium|cesiumjs
highcharts:
chart.js:
webgpu:
biome: ?Biome
oxlint:
lerna:
parcel: ?Parcel
swc: ^SWC
gulp: ?Gulp
grunt: ?Grunt
"""

PLATFORMS = """
struts: apache struts
jsf: ^JSF
jpa: ^JPA
jdbc: ^JDBC
jsp: ^JSP
jms: ^JMS
servlets: java servlets
vert.x: vertx
dropwizard:
guice: =Guice
netty: =Netty
weblogic:
websphere:
jboss: wildfly
ibm mq: websphere mq|mqseries
apache camel: ?Camel
hazelcast:
apache ignite:
zookeeper: apache zookeeper
ant: ?Ant|apache ant
linq: ^LINQ
signalr:
wcf: ^WCF
dapper: ?Dapper
ado.net:
mfc: ^MFC
win32: win32 api
tornado: ?Tornado
aiohttp:
asyncio:
streamlit:
gradio:
plotly:
matplotlib:
dask: =Dask
scrapy:
beautifulsoup: beautiful soup
gunicorn:
poetry: ?Poetry
mypy:
expo: ?Expo
kotlin multiplatform: ^KMM|^KMP
rxswift:
core data:
retrofit: ?Retrofit
dagger: ?Dagger|dagger hilt
fastlane:
cocoapods:
delphi: =Delphi
pascal: ?Pascal|object pascal
ada: ?Ada
lisp: common lisp|=Lisp
prolog:
tcl: ^TCL|^Tcl
assembly: ?Assembly|assembly language|?Assembler
sas: ?SAS|sas programming|base sas
stata:
spss:
jcl: ^JCL
cics: ^CICS
z/os:
mainframe: mainframes|ibm mainframe
as/400: as400|iseries
rpg: ^RPGLE|rpg ile
nim: ?Nim
crystal: ?Crystal
move: ?Move
cairo: ?Cairo
vyper:
rpc: json-rpc
erlang/otp: ^OTP
"""

DATA_TOOLS = """
hbase: apache hbase
impala: ?Impala|apache impala
mapreduce: map reduce
sqoop:
oozie:
debezium:
kafka connect:
confluent: ?Confluent|confluent cloud
amazon msk: ^MSK
aws lake formation: lake formation
quicksight: amazon quicksight
elasticache: amazon elasticache
documentdb:
neptune: ?Neptune|amazon neptune
appsync: aws appsync
aws amplify: ?Amplify
elastic beanstalk:
route 53: route53
ecr: ^ECR
vpc: ?VPC|?VPCs
aws iam: ?IAM
kms: ^KMS
aws organizations:
amazon connect:
secrets manager: aws secrets manager
azure sql: azure sql database
azure monitor:
application insights: app insights
azure logic apps: logic apps
event hubs: event hub|azure event hubs
event grid: azure event grid
azure blob storage: blob storage
azure key vault: key vault
microsoft fabric: ms fabric
bicep: ?Bicep|azure bicep
arm templates:
cloud functions: google cloud functions
cloud sql:
spanner: ?Spanner|google cloud spanner|cloud spanner
bigtable:
dataproc:
cloud composer:
looker studio: google data studio
app engine: google app engine
fastly:
akamai:
cloudflare: ?Cloudflare
haproxy:
traefik:
linkerd:
kustomize:
crossplane:
tekton:
octopus deploy:
snyk:
veracode:
checkmarx:
trivy:
wiz: ?Wiz
qualys:
nessus:
cyberark:
sailpoint:
ping identity: pingfederate
palo alto firewalls: palo alto networks
fortinet: fortigate
cisco: ?Cisco|cisco ios
zscaler:
sentinelone:
qradar:
microsoft sentinel: azure sentinel
microsoft defender: defender for endpoint
intune: microsoft intune
loki: ?Loki|grafana loki
thanos: ?Thanos
zabbix:
nagios:
zipkin:
rollbar:
cloudtrail: aws cloudtrail
statsig:
optimizely:
pendo: =Pendo
google tag manager:
snowplow:
rudderstack:
hightouch:
matillion:
stitch: ?Stitch
alteryx:
microstrategy:
cognos:
ssas: ^SSAS
thoughtspot:
domo: ?Domo
great expectations: ?Great Expectations
collibra:
alation:
unity catalog:
starburst: ?Starburst
druid: ?Druid|apache druid
pinot: ?Pinot|apache pinot
duckdb:
singlestore: memsql
yugabytedb: yugabyte
tidb:
aerospike:
foundationdb:
etcd:
minio:
ceph:
hyper-v: hyperv
proxmox:
kvm: ^KVM
citrix: =Citrix
slurm: =Slurm
mpi: ^MPI
openmp:
postgis:
arcgis: esri
qgis:
geoserver:
gdal:
"""
