import Koa from 'koa'
import { listen, readResponses, respond, setting } from './recorded-responses.ts'

const responses = readResponses(setting('BENCH_ANSWERS'))

const app = new Koa()
app.use((ctx) => respond(ctx, responses))
listen(app)
