import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { waitForShutdownSignal } from '@plainpath/http'
import { seedRandom } from '../faults/random.ts'
import { readCurrentCommit } from '../read-current-commit.ts'
import { runSoak } from './run-soak.ts'
import { hasPassed, renderSoakDocument, renderSoakTable } from './soak-table.ts'

const HELP = `npm run soak -- [options]
Runs the whole topology under a steady load while keys rotate, tokens are revoked and processes are killed, and
checks that memory stays flat and every guarantee holds. A run of at least an hour writes e2e/soak/RESULTS.md.
  --minutes <number>  minutes of load (default 60)
  --rate <number>     requests a second (default 100; two cores that also generate it serve about 200)
  --seed <number>     seed that determines the requests and the kills (default: from the time of day)`

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    rate: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    help: { type: 'boolean', default: false },
  },
})
const print = (text: string) => process.stdout.write(`${text}\n`)
const RESULTS = fileURLToPath(new URL('RESULTS.md', import.meta.url))
const MIN_STORED_MINUTES = 60

/**
 * Runs the soak test. Returns false if the run was stopped early, if a response was wrong or refused without a reason, if a change
 * was lost, or if memory grew.
 */
async function main(): Promise<boolean> {
  const [minutes, rate] = [Number(options.minutes), Number(options.rate)]
  if (!(minutes > 0 && rate > 0)) throw new RangeError('--minutes and --rate are numbers above 0')
  seedRandom(Number(options.seed))
  const commit = await readCurrentCommit()
  print(`Commit ${commit}, seed ${options.seed}, ${minutes} minutes at ${rate} requests a second`)
  const stopController = new AbortController()
  void waitForShutdownSignal().then(() => stopController.abort())
  const result = await runSoak({ minutes, rate, print, stopSignal: stopController.signal })
  if (!result) {
    print('The run was stopped early, so there is no result.')
    return false
  }
  print(`\n${renderSoakTable(result)}\n`)
  for (const line of [...result.wrong, ...result.lost]) print(line)
  if (minutes >= MIN_STORED_MINUTES)
    await writeFile(RESULTS, renderSoakDocument(result, { commit, minutes, rate }))
  return hasPassed(result)
}

if (options.help) print(HELP)
else if (!(await main())) process.exitCode = 1
