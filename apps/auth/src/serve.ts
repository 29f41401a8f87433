import { type Log, serve, shutdownSignal } from '@plainpath/http'
import type { Config } from './config.ts'
import { openAuth } from './wire.ts'

/**
 * Runs the authorization server until SIGTERM or SIGINT, then drains: `/ready` turns 503, listeners stop accepting,
 * requests in flight finish, stores close.
 */
export async function serveAuth(config: Config, deps: { log: Log; now: () => Date }): Promise<void> {
  await using resources = new AsyncDisposableStack()
  const auth = resources.use(await openAuth(config, deps))
  const { drainSeconds } = config
  const operations = resources.use(
    await serve(auth.operationsApp.callback(), { ...config.operations, drainSeconds }),
  )
  const internal = resources.use(
    await serve(auth.internalApp.callback(), { ...config.internal, drainSeconds }),
  )
  const server = resources.use(await serve(auth.publicApp.callback(), { ...config.public, drainSeconds }))
  deps.log.info('listening', {
    port: server.port,
    internal_port: internal.port,
    operations_port: operations.port,
  })
  const signal = await shutdownSignal()
  auth.readiness.drain()
  deps.log.info('stopping', { signal })
}
