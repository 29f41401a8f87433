import { DRY_RUN, option, readLogFile } from '@plainpath/commands'
import { formatCount } from '@plainpath/domain'
import { readErasures, replayErasures } from '../erasure-log.ts'
import { reencryptDataKeys } from '../reencrypt-data-keys.ts'
import { defineCommand } from './define-command.ts'
import { formatErasureCounts } from './format-erasure-counts.ts'

/** The commands `rewrap`, for a new key-encryption key, and `replay`, for use after a restore. */
export const maintenanceCommands = [
  defineCommand({
    name: 'rewrap',
    summary:
      're-encrypt the data keys of waitlist addresses and messages under the newest key-encryption key',
    parameters: { dryRun: DRY_RUN },
    settings: ['RESOURCE_KEK_FILE'],
    opens: 'database',
    async run({ db, settings, args: { dryRun } }) {
      const { addresses, messages } = await reencryptDataKeys(db, settings.RESOURCE_KEK_FILE, {
        dryRun,
      })
      return {
        json: { ok: true, done: !dryRun && addresses + messages > 0, addresses, messages },
        text: `${dryRun ? 'Would re-encrypt' : 'Re-encrypted'} the data keys of ${formatCount(addresses, 'waitlist address', 'waitlist addresses')} and ${formatCount(messages, 'message value')}.`,
      }
    },
  }),
  defineCommand({
    name: 'replay',
    summary:
      'after a restore, erase again every waitlist entry and message that the log records as erased; the audit log records this',
    parameters: {
      log: option(
        '--log <path>',
        'the log of the API and its commands since the backup; - reads standard input',
        { required: true },
      ),
      dryRun: DRY_RUN,
    },
    opens: 'database',
    async run({ db, args, operator, now }) {
      const erasures = await readErasures(readLogFile(args.log))
      const erasuresInLog = { entries: erasures.entries.size, messages: erasures.messages.size }
      if (args.dryRun)
        return {
          json: { ok: true, done: false, told: erasuresInLog },
          text: `Would erase up to ${formatErasureCounts(erasuresInLog)} again, because the log records them as erased.`,
        }
      const erased = await replayErasures(db, erasures, { actor: operator.user, now: now() })
      return {
        json: { ok: true, done: true, told: erasuresInLog, erased },
        text: `The log records ${formatErasureCounts(erasuresInLog)} as erased. Of these, ${formatErasureCounts(erased)} still existed and were erased again.`,
      }
    },
  }),
]
