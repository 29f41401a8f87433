import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createTemporaryFolder } from '@plainpath/stack/create-temporary-folder'
import { readCurrentCommit } from '../read-current-commit.ts'
import { findBrokenBounds, renderAbuseDocument, renderAbuseTable } from './abuse-table.ts'
import { runAbuse } from './run-abuse.ts'

const HELP = `npm run abuse -- [options]
Floods a complete stack from 28 addresses, under production limits: with random tokens, with verifications of invented
mailboxes, with invented people at one domain who join the waitlist, and with requests for pages that take long to create.
It sends as fast as the load generator can, except that each address begins only one verification at a time. During the
abuse, two others read guides from addresses of their own: a client whose token the API has already introspected, and a
reader without a token. Before the abuse, five people at that domain join; after it, they ask to be removed, and their
mails must arrive.

Prints the responses that each group got. A run of at least 60 s also writes e2e/abuse/RESULTS.md.
  --seconds <number>  duration of the abuse (default 60)`

const { values: options } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, help: { type: 'boolean', default: false } },
})
const print = (text: string) => process.stdout.write(`${text}\n`)
const RESULTS_FILE = fileURLToPath(new URL('RESULTS.md', import.meta.url))
/** A shorter run does not replace the results page. */
const MIN_STORED_SECONDS = 60

/** Runs the abuse. Returns false if the run broke one of the bounds in `findBrokenBounds`, such as that no other client is refused. */
async function main(): Promise<boolean> {
  const seconds = Number(options.seconds)
  if (!(seconds > 0)) throw new RangeError('--seconds must be a number above 0')
  const commit = await readCurrentCommit()
  await using folder = await createTemporaryFolder('abuse')
  const result = await runAbuse({ seconds, folder: folder.path, print })
  print(`\n${renderAbuseTable(result)}\n`)
  const brokenBounds = findBrokenBounds(result)
  for (const brokenBound of brokenBounds) print(brokenBound)
  if (seconds >= MIN_STORED_SECONDS) await writeFile(RESULTS_FILE, renderAbuseDocument(result, commit))
  return brokenBounds.length === 0
}

if (options.help) print(HELP)
else if (!(await main())) process.exitCode = 1
