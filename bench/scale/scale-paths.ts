import { CONNECTION_COUNT } from '../load/closed-loop.ts'
import { openConnection } from '../load/connection.ts'
import { cycle } from '../load/target.ts'
import { GUIDE, GUIDES } from '../measured-paths.ts'
import {
  createApiIntrospectionFormatter,
  formatBearerRead,
  formatRead,
  formatTokenRequest,
} from '../testbed/format-requests.ts'
import type { MeasuredApp } from '../testbed/start-measured-app.ts'
import { openCaller, openChangingCaller, REQUESTS_PER_CALLER } from './callers.ts'
import type { Load } from './measure-load.ts'
import type { InstanceStack } from './start-instances.ts'

/** A measured path of one stack. */
export interface ScalePath {
  readonly name: string
  readonly title: string
  readonly load: Load
}

/** The number of clients. They are so few that the caches can be filled quickly before each measurement. */
const CLIENT_COUNT = 100

/** Creates the paths that are measured. All but introspections go through the gateway. */
export async function createScalePaths(stack: InstanceStack): Promise<ScalePath[]> {
  const { auths, apis, gatewayPort, stores } = stack
  const clients = stack.agents.slice(0, CLIENT_COUNT)
  const formatApiIntrospection = await createApiIntrospectionFormatter(stores)
  const open = (index: number) => openCaller(gatewayPort, index)
  const reads = clients.map(({ token }) => formatBearerRead(GUIDE, token))
  const tokenRequests = clients.map((client) => formatTokenRequest('/oauth/token', client))
  const introspections = clients.map(({ token }) => formatApiIntrospection(token))
  const listPublicPorts = (apps: readonly MeasuredApp[]) => apps.map(({ port }) => port)
  const internalPorts = auths.map(({ internalPort }) => internalPort)
  return [
    {
      name: 'guides',
      title: `\`GET /api/guides\`, public, ${CONNECTION_COUNT} callers`,
      load: { open, next: cycle([formatRead(GUIDES)]), status: 200 },
    },
    {
      name: 'guides-callers',
      title: `\`GET /api/guides\`, public, callers of ${REQUESTS_PER_CALLER} reads each`,
      load: { open: () => openChangingCaller(gatewayPort), next: cycle([formatRead(GUIDES)]), status: 200 },
    },
    {
      name: 'guide-bearer',
      title: '`GET /api/guides/{slug}`, cached bearer token',
      load: {
        open,
        next: cycle(reads),
        status: 200,
        prepare: () => sendToEach(listPublicPorts(apis), reads),
      },
    },
    {
      name: 'token',
      title: '`POST /oauth/token`',
      load: {
        open,
        next: cycle(tokenRequests),
        status: 200,
        prepare: () => sendToEach(listPublicPorts(auths), tokenRequests),
      },
    },
    {
      name: 'introspect',
      title: '`POST /oauth/introspect`, signed, without the gateway',
      load: {
        open: (index) => openConnection(internalPorts[index % internalPorts.length] ?? 0),
        next: cycle(introspections),
        status: 200,
        prepare: () => sendToEach(internalPorts, introspections),
      },
    },
  ]
}

/** Sends each request once to each port, so that no request of the measurement finds an empty cache. */
async function sendToEach(ports: readonly number[], requests: readonly Buffer[]): Promise<void> {
  const sendAll = async (port: number) => {
    using connection = openConnection(port)
    for (const request of requests)
      await new Promise((resolve) => {
        connection.send(request, resolve)
      })
  }
  await Promise.all(ports.map(sendAll))
}
