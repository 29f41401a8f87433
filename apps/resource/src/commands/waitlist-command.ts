import { open, rm } from 'node:fs/promises'
import { createFileErrorHandler, option, Refusal } from '@plainpath/commands'
import { canonicalizeEmail, formatCount } from '@plainpath/domain'
import { createErasureLogger } from '../erasure-log.ts'
import {
  countEntries,
  countEntriesByWeek,
  exportEntries,
  forgetEntry,
  type ListedEntry,
  listEntries,
  listReferrers,
} from '../waitlist/manage-waitlist.ts'
import { defineCommand, limitOption } from './define-command.ts'
import { readShortText } from './read-short-text.ts'

/** The longest text that is read from a file that should contain one address. */
const MAX_ADDRESS_CHARACTERS = 1_000

export const waitlistCommands = [
  defineCommand({
    name: 'waitlist stats',
    summary:
      'count the people who joined, confirmed, and came through a referral: in total, by week and by referrer',
    opens: 'database',
    async run({ db, now }) {
      const statistics = await countEntries(db)
      const { entries, confirmed, referred, credited } = statistics
      const weeks = await countEntriesByWeek(db, now())
      const referrers = await listReferrers(db)
      return {
        json: { ...statistics, weeks, referrers },
        text: [
          `${formatCount(entries, 'entry', 'entries')}, ${confirmed} of them confirmed; ${referred} referred, ${credited} of them confirmed.`,
          `Joined by week, ${weeks[0]?.week} to ${weeks.at(-1)?.week}:  ${drawSparkline(weeks.map(({ joined }) => joined))}`,
          ...weeks
            .filter(({ joined }) => joined > 0)
            .map((week) => `  week of ${week.week}  ${week.joined} joined, ${week.confirmed} confirmed`),
          ...(referrers.length > 0 ? ['Referred the most:'] : []),
          ...referrers.map(
            ({ referrer, referred: referredCount, credited: confirmedCount }) =>
              `  ${referrer}  ${referredCount} referred, ${confirmedCount} confirmed`,
          ),
        ].join('\n'),
      }
    },
  }),
  defineCommand({
    name: 'waitlist list',
    summary: 'list the newest entries, without addresses',
    parameters: { limit: limitOption },
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
    summary:
      'write the entries with their addresses to a new file that only you can read; the audit log records this',
    parameters: {
      file: option('--file <path>', 'the file to write, with one JSON object per line', { required: true }),
    },
    settings: ['RESOURCE_KEK_FILE'],
    opens: 'database',
    async run({ db, settings, args, operator, now }) {
      await using file = await createFile(args.file)
      await using cleanup = new AsyncDisposableStack()
      // Deletes an incomplete export.
      cleanup.defer(() => rm(args.file))
      const exportedEntries = exportEntries(db, {
        sealer: settings.RESOURCE_KEK_FILE,
        actor: operator.user,
        now: now(),
      })
      let entries = 0
      for await (const entry of exportedEntries) {
        await file.write(`${JSON.stringify(entry)}\n`)
        entries += 1
      }
      cleanup.move()
      return {
        json: { entries, file: args.file },
        text: `Wrote ${formatCount(entries, 'entry', 'entries')} to ${args.file}.`,
      }
    },
  }),
  defineCommand({
    name: 'waitlist forget',
    summary: 'remove an address from the waitlist; the audit log records this',
    parameters: {
      addressFile: option(
        '--address-file <path>',
        'a file with the address and nothing else; - reads standard input, which keeps the address out of process lists and the shell history',
        { required: true },
      ),
    },
    settings: ['RESOURCE_HASH_KEY_FILE'],
    opens: 'database',
    async run({ db, settings, args, operator, now, log }) {
      const canonical = canonicalizeEmail(
        await readShortText(args.addressFile, '--address-file', MAX_ADDRESS_CHARACTERS),
      )
      if (canonical === undefined)
        throw new Refusal('The text in --address-file is not an e-mail address. Nothing was changed.')
      const id = await forgetEntry(db, {
        hashKey: settings.RESOURCE_HASH_KEY_FILE,
        canonicalEmail: canonical,
        actor: operator.user,
        now: now(),
      })
      if (id === undefined) throw new Refusal('The address is not on the waitlist. Nothing was changed.')
      createErasureLogger(log, operator)('entry', id)
      return { json: { forgotten: true }, text: 'The address was removed from the waitlist.' }
    },
  }),
]

const BARS = [...'▁▂▃▄▅▆▇█']

/** Draws a bar for each count, relative to the highest count. A count of zero gets the lowest bar. */
function drawSparkline(counts: readonly number[]): string {
  const highestCount = Math.max(1, ...counts)
  return counts.map((count) => BARS[Math.ceil((count / highestCount) * (BARS.length - 1))]).join('')
}

const createFile = (path: string) =>
  open(path, 'wx', 0o600).catch(
    createFileErrorHandler(
      (code) => `${path} cannot be created (${code}). Choose a path that does not exist yet.`,
    ),
  )

const describeEntry = ({ id, joinedAt, confirmedAt, referred }: ListedEntry) =>
  `${id}  joined ${joinedAt.toISOString()}, ${confirmedAt ? 'confirmed' : 'not confirmed'}${referred ? ', referred' : ''}`
