import Koa from 'koa'
import { readAnswers, setting } from './answers.ts'

const answers = readAnswers(setting('BENCH_ANSWERS'))

const app = new Koa()
app.use((ctx) => {
  const answer = answers.get(ctx.path)
  if (!answer) return
  ctx.type = answer.type
  if (answer.encoding) ctx.set('content-encoding', answer.encoding)
  ctx.body = answer.body
})
app.listen(Number(setting('BENCH_PORT')), '127.0.0.1')
