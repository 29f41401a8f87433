import { importJWK, type JWK, jwtVerify } from 'jose'
import Koa from 'koa'
import { listen, readResponses, respond, setting } from './recorded-responses.ts'

/** The usual alternative: a signed token (ES256) that is verified for each request and cannot be revoked. */
const responses = readResponses(setting('BENCH_ANSWERS'))
const key = await importJWK(JSON.parse(setting('BENCH_JWK')) as JWK, 'ES256')
const expected = {
  issuer: setting('BENCH_ISSUER'),
  audience: setting('BENCH_AUDIENCE'),
  algorithms: ['ES256'],
}

const app = new Koa()
app.use(async (ctx) => {
  const token = /^Bearer (\S+)$/.exec(ctx.get('authorization'))?.[1] ?? ''
  try {
    const { payload } = await jwtVerify(token, key, expected)
    if (!String(payload['scope']).split(' ').includes('guides:read')) return ctx.throw(403)
  } catch {
    return ctx.throw(401)
  }
  respond(ctx, responses)
})
listen(app)
