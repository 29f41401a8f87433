import type { AbuseResult, Statuses } from './run-abuse.ts'

/** For each process of the API: 30 failed tokens a minute of each of four addresses, and those of the warm-up and leases. */
const INTROSPECTIONS_A_MINUTE = 2 * (4 * 30 + 30)
/** For each of four processes: 20 refused requests a second, and as many other lines again. */
const LOG_LINES_A_SECOND = 4 * 40

/** Lists the broken bounds; empty when the abusers did not affect other clients. */
export function findBrokenBounds(result: AbuseResult): string[] {
  const minutes = Math.ceil(result.seconds / 60) + 1
  const checks: [boolean, string][] = [
    [onlySucceeded(result.client), 'the client with a verified token was refused'],
    [onlySucceeded(result.anonymous), 'the reader without a token was refused'],
    [result.delivered === result.asked, 'a mail that a person asked for did not come'],
    [
      result.introspections <= INTROSPECTIONS_A_MINUTE * minutes,
      `more than ${INTROSPECTIONS_A_MINUTE} introspections a minute`,
    ],
    [
      result.logLines <= LOG_LINES_A_SECOND * result.seconds,
      `more than ${LOG_LINES_A_SECOND} log lines a second`,
    ],
    [
      (result.badTokens[429] ?? 0) > 0,
      'no bad token was refused before it was introspected: this proves nothing',
    ],
  ]
  return checks.filter(([holds]) => !holds).map(([, fault]) => fault)
}

const onlySucceeded = (statuses: Statuses) => Object.keys(statuses).join() === '200'

/** Formats the result as Markdown. */
export function abuseTable(result: AbuseResult): string {
  const rows: [string, string][] = [
    ['random tokens, from four addresses', formatStatuses(result.badTokens)],
    [
      'registrations and verifications of invented mailboxes, from the same four',
      formatStatuses(result.verifications),
    ],
    ['invented people at one domain who join, from twenty addresses', formatStatuses(result.joins)],
    ['**a client with a verified token**', formatStatuses(result.client)],
    ['**a reader without a token**', formatStatuses(result.anonymous)],
    ['**mails that people at that domain asked for**', `${result.delivered} of ${result.asked} came`],
    ['introspections', String(result.introspections)],
    ['lines in the logs of four processes', String(result.logLines)],
  ]
  return ['| who | got |', '|---|---|', ...rows.map(([who, got]) => `| ${who} | ${got} |`)].join('\n')
}

const formatStatuses = (statuses: Statuses) =>
  Object.entries(statuses)
    .map(([status, count]) => `${count} × ${status === '0' ? 'no response' : status}`)
    .join(', ')

export function abuseDocument(result: AbuseResult, commit: string): string {
  const faults = findBrokenBounds(result)
  return `# What an abuser takes from others

\`npm run abuse\` on commit ${commit}: two processes of each app behind the gateway, with Redis and production limits, for
${result.seconds} seconds at the highest rate that the generator made on the same machine. The last three rows are bounds:
${INTROSPECTIONS_A_MINUTE} introspections a minute, ${LOG_LINES_A_SECOND} log lines a second, and no mail that a person asked for is lost.

${abuseTable(result)}

${faults.length === 0 ? 'Nobody else was refused, and every bound held.' : faults.map((fault) => `- ${fault}`).join('\n')}
`
}
