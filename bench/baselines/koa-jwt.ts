import { importJWK, type JWK, jwtVerify } from 'jose'
import Koa from 'koa'
import { listen, readResponses, readSetting, respond } from './recorded-responses.ts'

// This baseline verifies a signed token (ES256) for each request. This is the usual alternative to introspection, but it cannot
// revoke a token.
const responses = readResponses(readSetting('BENCH_RESPONSES'))
const key = await importJWK(JSON.parse(readSetting('BENCH_JWK')) as JWK, 'ES256')
const verifyOptions = {
  issuer: readSetting('BENCH_ISSUER'),
  audience: readSetting('BENCH_AUDIENCE'),
  algorithms: ['ES256'],
}

const app = new Koa()
app.use(async (ctx) => {
  const token = /^Bearer (\S+)$/.exec(ctx.get('authorization'))?.[1] ?? ''
  const { payload } = await jwtVerify(token, key, verifyOptions).catch(() => ctx.throw(401))
  if (!String(payload['scope']).split(' ').includes('guides:read')) return ctx.throw(403)
  respond(ctx, responses)
})
listen(app)
