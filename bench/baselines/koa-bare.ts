import Koa from 'koa'
import { readAnswers, respond, setting } from './answers.ts'

const answers = readAnswers(setting('BENCH_ANSWERS'))

const app = new Koa()
app.use((ctx) => respond(ctx, answers))
app.listen(Number(setting('BENCH_PORT')), '127.0.0.1')
