// Repeatedly acquires the embedded server, runs queries and releases it. Arguments: its data directory, and the number
// of rounds. Prints as JSON how many rounds started the server.
import { openPool, useEmbeddedPostgres } from '../src/index.ts'

const [, , dir = '', rounds = '1'] = process.argv
let startCount = 0
for (let round = 0; round < Number(rounds); round++) {
  await using server = await useEmbeddedPostgres({ dir, settings: { fsync: 'off' } })
  await using pool = openPool(server.url, { max: 1 })
  for (let statement = 0; statement < 5; statement++) await pool.query('select pg_backend_pid()')
  if (server.wasStarted) startCount += 1
}
console.log(JSON.stringify({ started: startCount }))
