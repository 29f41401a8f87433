import { importJWK, type JWK, jwtVerify } from 'jose'
import Koa from 'koa'
import { listen, readResponses, readSetting, respond } from './recorded-responses.ts'

// This baseline verifies a signed token (ES256) for each request: the usual alternative, which cannot be revoked.
const responses = readResponses(readSetting('BENCH_ANSWERS'))
const key = await importJWK(JSON.parse(readSetting('BENCH_JWK')) as JWK, 'ES256')
const verifyOptions = {
  issuer: readSetting('BENCH_ISSUER'),
  audience: readSetting('BENCH_AUDIENCE'),
  algorithms: ['ES256'],
}

const app = new Koa()
app.use(async (ctx) => {
  const token = /^Bearer (\S+)$/.exec(ctx.get('authorization'))?.[1] ?? ''
  try {
    const { payload } = await jwtVerify(token, key, verifyOptions)
    if (!String(payload['scope']).split(' ').includes('guides:read')) return ctx.throw(403)
  } catch {
    return ctx.throw(401)
  }
  respond(ctx, responses)
})
listen(app)
