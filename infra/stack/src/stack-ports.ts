import { reserveFreePorts } from '@plainpath/http/free-ports'
import type { AppName } from '@plainpath/metadata'
import type { AppPorts } from './start-app.ts'

/** The maximum number of instances of an app in a stack. */
export const MAX_INSTANCES = 9

/** The size of the range of fixed ports, which starts at the base port. `STACK_USAGE` assigns ports up to the base port + 96. */
export const FIXED_PORT_COUNT = 100

/** The number of ports of an instance: public, operations and internal. Only auth uses the last one. */
const PORTS_PER_INSTANCE = 3

/** The ports of all processes of a stack except the gateway. */
export interface StackPorts {
  /** If undefined, the server picks a port. */
  readonly postgres: number | undefined
  readonly redis: number
  readonly prometheus: number
  readonly mailbox: number
  readonly smtp: number
  /** @param number from 1 to `MAX_INSTANCES` */
  app(app: AppName, number: number): AppPorts
}

/** Assigns the ports for `--base-port`, as `STACK_USAGE` lists them. */
export const assignFixedPorts = (base: number): StackPorts => ({
  postgres: base,
  redis: base + 1,
  prometheus: base + 2,
  mailbox: base + 3,
  smtp: base + 4,
  app(app, number) {
    const publicPort = base + 10 * number + (app === 'auth' ? 0 : 5)
    return { public: publicPort, operations: publicPort + 1, internal: publicPort + 2 }
  },
})

/**
 * Reserves free ports for a stack.
 *
 * @param instances the maximum number of instances of each app
 */
export async function findFreeStackPorts(instances: number): Promise<StackPorts> {
  // The defaults only satisfy the compiler: `reserveFreePorts` returns as many ports as requested.
  const [redis = 0, prometheus = 0, mailbox = 0, smtp = 0, ...appPorts] = await reserveFreePorts(
    4 + instances * 2 * PORTS_PER_INSTANCE,
  )
  return {
    postgres: undefined,
    redis,
    prometheus,
    mailbox,
    smtp,
    app(app, number) {
      const offset = ((number - 1) * 2 + (app === 'auth' ? 0 : 1)) * PORTS_PER_INSTANCE
      const [publicPort = 0, operations = 0, internal = 0] = appPorts.slice(
        offset,
        offset + PORTS_PER_INSTANCE,
      )
      return { public: publicPort, operations, internal }
    },
  }
}

/** A port, and the name of the process of a stack that must listen on it. */
export interface RequiredPort {
  readonly port: number
  readonly process: string
}

/**
 * Lists the ports of a stack, without the gateway's.
 *
 * @param instances the number of instances of each app
 */
export function listPorts(ports: StackPorts, instances: Readonly<Record<AppName, number>>): RequiredPort[] {
  const requiredPorts: RequiredPort[] = [
    { port: ports.redis, process: 'Redis' },
    { port: ports.prometheus, process: 'Prometheus' },
    { port: ports.mailbox, process: 'the mailbox' },
    { port: ports.smtp, process: 'the mail server' },
  ]
  if (ports.postgres !== undefined) requiredPorts.unshift({ port: ports.postgres, process: 'PostgreSQL' })
  for (const app of ['auth', 'resource'] as const) {
    for (let number = 1; number <= instances[app]; number += 1)
      requiredPorts.push(...listAppPorts(app, number, ports.app(app, number)))
  }
  return requiredPorts
}

/** Lists the ports of an instance. */
export function listAppPorts(app: AppName, number: number, ports: AppPorts): RequiredPort[] {
  const usedPorts = [ports.public, ports.operations, ...(app === 'auth' ? [ports.internal] : [])]
  return usedPorts.map((port) => ({ port, process: `${app}-${number}` }))
}
