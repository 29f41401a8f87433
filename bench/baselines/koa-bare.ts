import Koa from 'koa'
import { listen, readAnswers, respond, setting } from './answers.ts'

const answers = readAnswers(setting('BENCH_ANSWERS'))

const app = new Koa()
app.use((ctx) => respond(ctx, answers))
listen(app)
