import { writeFile } from 'node:fs/promises'
import { cpus, loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { seedRandom } from '../faults/random.ts'
import { readCurrentCommit } from '../read-current-commit.ts'
import { FAILOVER } from './failover.ts'
import { POOLER } from './pooler.ts'
import { hasPassed, type Rehearsal, renderRehearsalDocument, renderRehearsalTable } from './rehearsal.ts'
import { UPGRADE } from './upgrade.ts'

const REHEARSALS: Readonly<Record<string, Rehearsal>> = {
  upgrade: UPGRADE,
  pooler: POOLER,
  failover: FAILOVER,
}

const HELP = `npm run rehearse -- <rehearsal> [options]
Rehearses a change to the running system under load. All components run as processes on this machine. Writes the results
to e2e/rehearsals/<REHEARSAL>.md.
  upgrade             from the newest release to this commit, one process at a time, and back again
  pooler              PostgreSQL behind PgBouncer in transaction mode
  failover            Redis with a replica and three Sentinels: the primary is killed, replaced on command, and frozen
  --seconds <number>  seconds of load in each step of a phase (default 8)
  --rate <number>     requests a second, without extra uses of revoked tokens (default 40)
  --seed <number>     seed of the random choices of requests (default: from the clock)
  --busy              tolerates unexplained refusals and late responses, for a machine that does other work
  --dry-run           runs the rehearsal, but writes no file
  --help              prints this text`

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '8' },
    rate: { type: 'string', default: '40' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    busy: { type: 'boolean', default: false },
    'dry-run': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const print = (text: string) => process.stdout.write(`${text}\n`)

/** Runs a rehearsal, and writes its results unless `--dry-run` is set. Returns whether it passed. */
async function main(name: string, rehearsal: Rehearsal): Promise<boolean> {
  const [seconds, rate] = [Number(options.seconds), Number(options.rate)]
  if (!(seconds > 0 && rate > 0)) throw new RangeError('--seconds and --rate must be numbers above 0')
  seedRandom(Number(options.seed))
  const commit = await readCurrentCommit()
  print(`Commit ${commit}, seed ${options.seed}, ${rate} requests a second`)
  const result = await rehearsal.run({ rate, seconds, print })
  print(`\n${renderRehearsalTable(result)}`)
  const workload = options.busy ? 'generated the load and did other work' : 'generated the load'
  const machine = `${cpus().length} cores, which also ${workload} (load average ${loadavg()[0]?.toFixed(0) ?? ''})`
  const file = fileURLToPath(new URL(`${name.toUpperCase()}.md`, import.meta.url))
  if (!options['dry-run'])
    await writeFile(file, renderRehearsalDocument(name, rehearsal, result, { commit, rate, machine }))
  return hasPassed(result, { isBusy: options.busy })
}

const [name = '', ...others] = positionals
const rehearsal = Object.hasOwn(REHEARSALS, name) ? REHEARSALS[name] : undefined
if (options.help) print(HELP)
else if (!rehearsal || others.length > 0) {
  const mistake = positionals.length === 1 ? `There is no rehearsal ${name}.` : 'Name one rehearsal.'
  process.stderr.write(`${mistake}\n\n${HELP}\n`)
  process.exitCode = 1
} else if (!(await main(name, rehearsal))) process.exitCode = 1
