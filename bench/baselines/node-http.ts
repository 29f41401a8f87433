import { createServer } from 'node:http'
import { listen, readResponses, readSetting } from './recorded-responses.ts'

// This baseline sends the same bodies as the API from memory, with `node:http` and no framework.
const responses = readResponses(readSetting('BENCH_RESPONSES'))

const server = createServer((request, response) => {
  const recorded = responses.get(request.url ?? '')
  if (!recorded) return void response.writeHead(404).end()
  response.writeHead(200, {
    'content-type': recorded.type,
    ...(recorded.encoding && { 'content-encoding': recorded.encoding }),
    'content-length': recorded.body.length,
  })
  response.end(recorded.body)
})
listen(server)
