import Koa from 'koa'
import { createLog } from '../src/observability/log.ts'
import { handleErrors } from '../src/problems/handle-errors.ts'
import { parseTrustedProxies } from '../src/request/client-address.ts'
import { requestContext } from '../src/request/request-context.ts'
import { exitOnUncaughtErrors } from '../src/server/run-app.ts'
import { serve } from '../src/server/server.ts'

/** A process that fails in the way that the path of a request names, with an error that quotes personal data. */
const log = createLog({ service: 'failing' })
exitOnUncaughtErrors(log)
const failure = () =>
  new Error('cannot mail "canary.person@example.org"', { cause: new Error("key 'canary'") })

const koa = new Koa()
koa.use(requestContext({ origin: 'http://localhost', log, trustedProxies: parseTrustedProxies('') }))
koa.use(handleErrors({ origin: 'http://localhost', log, errorForm: () => 'problem' }))
koa.use((ctx) => {
  if (ctx.path === '/throw') throw failure()
  if (ctx.path === '/timer') setTimeout(() => throwing(), 0)
  if (ctx.path === '/promise') void Promise.reject(failure())
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- other people's code does
  if (ctx.path === '/text') void Promise.reject('canary')
  ctx.body = 'fine'
})
function throwing(): never {
  throw failure()
}
const server = await serve(koa.callback(), { port: 0, host: '127.0.0.1', drainSeconds: 0 })
log.info('listening', { port: server.port })
