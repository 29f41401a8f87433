// Runs the embedded server until SIGTERM, as an app does. Arguments: its data directory, and settings as JSON. Prints
// one line of JSON: the server's URL, or the reason why the server cannot start.
import { once } from 'node:events'
import { EmbeddedPostgresError, useEmbeddedPostgres } from '../src/index.ts'

const [, , dir = '', settings = '{}'] = process.argv
try {
  const sigterm = once(process, 'SIGTERM')
  await using server = await useEmbeddedPostgres({ dir, settings: JSON.parse(settings) })
  const { url, port, wasStarted } = server
  console.log(JSON.stringify({ url, port, wasStarted, dir: server.dir }))
  await sigterm
} catch (error) {
  if (!(error instanceof EmbeddedPostgresError)) throw error
  console.log(JSON.stringify({ refused: error.message }))
  process.exitCode = 1
}
