import { createReadStream } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { option, Refusal, refuseFileError } from '@plainpath/commands'
import { canonicalEmail } from '@plainpath/domain'
import { createErasureLog } from '../erasure-log.ts'
import {
  exportEntries,
  forgetEntry,
  type ListedEntry,
  listEntries,
  waitlistStatistics,
} from '../waitlist/manage-waitlist.ts'
import { defineCommand, limit } from './define-command.ts'

/** No address is longer. */
const MOST_ADDRESS_LENGTH = 1_000

export const waitlistCommands = [
  defineCommand({
    name: 'waitlist stats',
    summary: 'how many people joined, confirmed, and came through a referral',
    opens: 'database',
    async run({ db }) {
      const statistics = await waitlistStatistics(db)
      const { entries, confirmed, referred, credited } = statistics
      return {
        json: statistics,
        text: `${entries} entries, ${confirmed} of them confirmed; ${referred} referred, ${credited} of those confirmed.`,
      }
    },
  }),
  defineCommand({
    name: 'waitlist list',
    summary: 'the newest entries, without addresses',
    parameters: { limit },
    opens: 'database',
    async run({ db, args }) {
      const entries = await listEntries(db, args.limit)
      return {
        json: { entries },
        text: entries.map(describeEntry).join('\n') || 'Nobody is on the waitlist.',
      }
    },
  }),
  defineCommand({
    name: 'waitlist export',
    summary: 'write every entry with its address to a new file that only you can read; it is audited',
    parameters: { file: option('--file <path>', 'one JSON object a line', { required: true }) },
    settings: ['RESOURCE_KEK_FILE'],
    opens: 'database',
    async run({ db, settings, args, operator, now }) {
      await using file = await newFile(args.file)
      await using unfinished = new AsyncDisposableStack()
      unfinished.defer(() => rm(args.file))
      const exported = exportEntries(db, {
        sealingKeys: settings.RESOURCE_KEK_FILE,
        actor: operator.user,
        now: now(),
      })
      let entries = 0
      for await (const entry of exported) {
        await file.write(`${JSON.stringify(entry)}\n`)
        entries += 1
      }
      unfinished.move()
      return { json: { entries, file: args.file }, text: `${entries} entries are in ${args.file}.` }
    },
  }),
  defineCommand({
    name: 'waitlist forget',
    summary: 'take an address off the waitlist; it is audited',
    parameters: {
      addressFile: option(
        '--address-file <path>',
        'what holds the address and nothing else; - reads it from a pipe, so that it is in no list of processes or commands',
        { required: true },
      ),
    },
    settings: ['RESOURCE_HASH_KEY_FILE'],
    opens: 'database',
    async run({ db, settings, args, operator, now, log }) {
      const canonical = canonicalEmail(await readAddress(args.addressFile))
      if (canonical === undefined) throw new Refusal('This is no e-mail address.')
      const id = await forgetEntry(db, {
        hashKey: settings.RESOURCE_HASH_KEY_FILE,
        canonicalEmail: canonical,
        actor: operator.user,
        now: now(),
      })
      if (id === undefined) throw new Refusal('The address is not on the waitlist.')
      createErasureLog(log, operator)('entry', id)
      return { json: { forgotten: true }, text: 'The address is off the waitlist.' }
    },
  }),
]

/** @param path a file, or `-` for standard input. No error repeats it, since it may be the address by mistake */
async function readAddress(path: string): Promise<string> {
  let read = ''
  try {
    const file = path === '-' ? process.stdin : createReadStream(path)
    for await (const chunk of file.setEncoding('utf8')) {
      read += chunk
      if (read.length > MOST_ADDRESS_LENGTH) break
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Refusal(`The file of --address-file cannot be read (${code ?? 'unknown reason'}).`)
  }
  return read.trim()
}

const newFile = (path: string) =>
  open(path, 'wx', 0o600).catch(
    refuseFileError((code) => `${path} cannot be made (${code}). Name a file that is not there yet.`),
  )

const describeEntry = ({ id, joinedAt, confirmedAt, referred }: ListedEntry) =>
  `${id}  joined ${joinedAt.toISOString()}, ${confirmedAt ? 'confirmed' : 'not confirmed'}${referred ? ', referred' : ''}`
