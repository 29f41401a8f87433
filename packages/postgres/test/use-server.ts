// Uses the embedded server on the folder of the first argument until SIGTERM, as an app does.
import { once } from 'node:events'
import { EmbeddedPostgresError, useEmbeddedPostgres } from '../src/index.ts'

const [, , dir = '', settings = '{}'] = process.argv
try {
  const ended = once(process, 'SIGTERM')
  await using server = await useEmbeddedPostgres({ dir, settings: JSON.parse(settings) })
  const { url, port, started } = server
  console.log(JSON.stringify({ url, port, started, dir: server.dir }))
  await ended
} catch (error) {
  if (!(error instanceof EmbeddedPostgresError)) throw error
  console.log(JSON.stringify({ refused: error.message }))
  process.exitCode = 1
}
