import { createServer } from 'node:http'
import { listen, readAnswers, setting } from './answers.ts'

const answers = readAnswers(setting('BENCH_ANSWERS'))

const server = createServer((request, response) => {
  const answer = answers.get(request.url ?? '')
  if (!answer) return void response.writeHead(404).end()
  response.writeHead(200, {
    'content-type': answer.type,
    ...(answer.encoding && { 'content-encoding': answer.encoding }),
    'content-length': answer.body.length,
  })
  response.end(answer.body)
})
listen(server)
