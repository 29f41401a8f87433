import Koa from 'koa'
import { listen, readResponses, readSetting, respond } from './recorded-responses.ts'

const responses = readResponses(readSetting('BENCH_RESPONSES'))

const app = new Koa()
app.use((ctx) => respond(ctx, responses))
listen(app)
