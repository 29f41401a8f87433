// Takes the embedded server on the folder of the first argument, works on it and gives it back, over and over.
import { openPool, useEmbeddedPostgres } from '../src/index.ts'

const [, , dir = '', rounds = '1'] = process.argv
let started = 0
for (let round = 0; round < Number(rounds); round++) {
  await using server = await useEmbeddedPostgres({ dir, settings: { fsync: 'off' } })
  await using pool = openPool(server.url, { max: 1 })
  for (let statement = 0; statement < 5; statement++) await pool.query('select pg_backend_pid()')
  if (server.started) started += 1
}
console.log(JSON.stringify({ started }))
