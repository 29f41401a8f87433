import Koa from 'koa'
import { createLog } from '../src/observability/log.ts'
import { handleErrors } from '../src/problems/handle-errors.ts'
import { parseTrustedProxies } from '../src/request/client-address.ts'
import { addRequestContext } from '../src/request/request-context.ts'
import { exitOnUncaughtErrors } from '../src/server/run-app.ts'
import { serve } from '../src/server/server.ts'

/*
 * Runs a server that fails in the way that the request path names: `/throw` in the handler, the others outside it, where no
 * handler of the request catches the error. Its errors quote personal data, which contains `canary`.
 */

const log = createLog({ service: 'failing' })
exitOnUncaughtErrors(log)
const createError = () =>
  new Error('cannot mail "canary.person@example.org"', { cause: new Error("key 'canary'") })

const koa = new Koa()
koa.use(addRequestContext({ origin: 'http://localhost', log, trustedProxies: parseTrustedProxies('') }))
koa.use(handleErrors({ origin: 'http://localhost', log, chooseErrorFormat: () => 'problem' }))
koa.use((ctx) => {
  if (ctx.path === '/throw') throw createError()
  if (ctx.path === '/timer') setTimeout(() => throwError(), 0)
  if (ctx.path === '/promise') void Promise.reject(createError())
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- third-party code may do so
  if (ctx.path === '/text') void Promise.reject('canary')
  ctx.body = 'fine'
})
function throwError(): never {
  throw createError()
}
const server = await serve(koa.callback(), { port: 0, host: '127.0.0.1', drainSeconds: 0 })
log.info('listening', { port: server.port })
