import { openPool } from '@plainpath/postgres'
import { Command } from 'commander'
import { type Environment, loadDatabaseUrl } from '../config.ts'
import { waitlistStatistics } from '../waitlist/waitlist-statistics.ts'
import type { CommandIo } from './command-io.ts'

export function waitlistCommand(env: Environment, io: CommandIo): Command {
  const waitlist = new Command('waitlist').description('the waitlist')
  waitlist
    .command('stats')
    .description('how many people joined, and how many through a referral')
    .option('--json', 'for programs')
    .action(async (options: { json?: boolean }) => {
      await using db = openPool(loadDatabaseUrl(env), {
        max: 1,
        applicationName: 'plainpath resource command',
      })
      const statistics = await waitlistStatistics(db)
      const { entries, referred } = statistics
      io.print(
        options.json ? JSON.stringify(statistics) : `${entries} entries, ${referred} of them referred.`,
      )
    })
  return waitlist
}
