import { type Log, serve, shutdownSignal } from '@plainpath/http'
import type { Config } from './config.ts'
import { openResource } from './wire.ts'

/**
 * Runs the API until SIGTERM or SIGINT, then drains: `/ready` turns 503, listeners stop accepting, requests in
 * flight finish, stores close.
 */
export async function serveResource(config: Config, deps: { log: Log; now: () => Date }): Promise<void> {
  await using resources = new AsyncDisposableStack()
  const resource = resources.use(await openResource(config, deps))
  const { drainSeconds } = config
  const operations = resources.use(
    await serve(resource.operationsApp.callback(), { ...config.operations, drainSeconds }),
  )
  const server = resources.use(await serve(resource.publicApp.callback(), { ...config.public, drainSeconds }))
  deps.log.info('listening', { port: server.port, operations_port: operations.port })
  const signal = await shutdownSignal()
  resource.readiness.drain()
  deps.log.info('stopping', { signal })
}
