import { expect, test } from 'vitest'
import { countCommands, countScripts, parseCommandStats, subtractCounts } from './redis-commands.ts'

/** This reply to `INFO commandstats` and the next have the line ends of Redis: CRLF. */
const BEFORE = `# Commandstats\r
cmdstat_eval:calls=3,usec=90,usec_per_call=30.00,rejected_calls=0,failed_calls=0\r
cmdstat_hget:calls=10,usec=20,usec_per_call=2.00,rejected_calls=0,failed_calls=0\r
cmdstat_client|setname:calls=2,usec=4,usec_per_call=2.00,rejected_calls=0,failed_calls=0\r
`
const AFTER = `# Commandstats\r
cmdstat_eval:calls=5,usec=150,usec_per_call=30.00,rejected_calls=0,failed_calls=0\r
cmdstat_evalsha:calls=4,usec=80,usec_per_call=20.00,rejected_calls=0,failed_calls=0\r
cmdstat_hget:calls=17,usec=34,usec_per_call=2.00,rejected_calls=0,failed_calls=0\r
cmdstat_client|setname:calls=2,usec=4,usec_per_call=2.00,rejected_calls=0,failed_calls=0\r
`

test('reads the calls of each command and of each subcommand', () => {
  expect(parseCommandStats(BEFORE)).toEqual({ eval: 3, hget: 10, 'client|setname': 2 })
})

test('subtracts the earlier calls, leaves out commands without a later call, and counts commands and scripts', () => {
  const counts = subtractCounts(parseCommandStats(AFTER), parseCommandStats(BEFORE))
  expect(counts).toEqual({ eval: 2, evalsha: 4, hget: 7 })
  expect(countCommands(counts)).toBe(13)
  expect(countScripts(counts)).toBe(6)
})
