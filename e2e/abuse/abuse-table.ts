import { type AbuseResult, PAGE_ADDRESSES, type Statuses } from './run-abuse.ts'

/** For each of two API processes: 30 failed tokens a minute from each of four addresses, and 30 for the warm-up and leases. */
const MAX_INTROSPECTIONS_PER_MINUTE = 2 * (4 * 30 + 30)
/** For each address, 120 requests that take long and have no token. */
const MAX_EXPENSIVE_REQUESTS_PER_MINUTE = PAGE_ADDRESSES.length * 120
/** For each of four processes: 20 refused requests a second, and as many other lines. */
const MAX_LOG_LINES_PER_SECOND = 4 * 40

/**
 * Lists the bounds that the run broke. A broken bound means that other clients were affected, that the apps did too much work, or
 * that the run proves nothing.
 */
export function findBrokenBounds(result: AbuseResult): string[] {
  // With its last responses, a run of n minutes can touch n + 1 windows of a minute.
  const minutes = Math.ceil(result.seconds / 60) + 1
  const bounds: [boolean, string][] = [
    [hasOnlySucceeded(result.client), 'the client whose token the API had already introspected was refused'],
    [hasOnlySucceeded(result.anonymous), 'the reader without a token was refused'],
    [result.deliveredMails === result.requestedMails, 'a mail that a person asked for did not arrive'],
    [
      result.introspections <= MAX_INTROSPECTIONS_PER_MINUTE * minutes,
      `more than ${MAX_INTROSPECTIONS_PER_MINUTE} introspections a minute`,
    ],
    [
      result.logLines <= MAX_LOG_LINES_PER_SECOND * result.seconds,
      `more than ${MAX_LOG_LINES_PER_SECOND} log lines a second`,
    ],
    [
      (result.expensiveRequests[200] ?? 0) <= MAX_EXPENSIVE_REQUESTS_PER_MINUTE * minutes,
      `more than ${MAX_EXPENSIVE_REQUESTS_PER_MINUTE} expensive requests a minute`,
    ],
    [
      (result.expensiveRequests[200] ?? 0) > 0 && (result.expensiveRequests[429] ?? 0) > 0,
      'no expensive request was refused, so this run proves nothing',
    ],
    [
      (result.badTokens[429] ?? 0) > 0,
      'no bad token was refused before it was introspected, so this run proves nothing',
    ],
  ]
  return bounds.filter(([isHeld]) => !isHeld).map(([, brokenBound]) => brokenBound)
}

const hasOnlySucceeded = (statuses: Statuses) => Object.keys(statuses).join() === '200'

/** Formats the result as a Markdown table with one row for each kind of traffic and each count. */
export function renderAbuseTable(result: AbuseResult): string {
  const rows: [string, string][] = [
    ['requests with random tokens, from four addresses', formatStatuses(result.badTokens)],
    [
      'registrations, and verifications of invented mailboxes, from the same four addresses',
      formatStatuses(result.verifications),
    ],
    ['joins of invented people at one domain, from twenty addresses', formatStatuses(result.joins)],
    [
      'searches with misspelt words, questions and parts of the API description, from four other addresses',
      formatStatuses(result.expensiveRequests),
    ],
    ['**a client whose token the API has already introspected**', formatStatuses(result.client)],
    ['**a reader without a token**', formatStatuses(result.anonymous)],
    [
      '**mails that people at that domain asked for**',
      `${result.deliveredMails} of ${result.requestedMails} arrived`,
    ],
    ['introspections', String(result.introspections)],
    ['lines in the logs of four processes', String(result.logLines)],
  ]
  return [
    '| traffic or count | result |',
    '|---|---|',
    ...rows.map(([label, text]) => `| ${label} | ${text} |`),
  ].join('\n')
}

/** Formats counts such as `12 × 200, 3 × 429`. */
const formatStatuses = (statuses: Statuses) =>
  Object.entries(statuses)
    .map(([status, count]) => `${count} × ${status === '0' ? 'no response' : status}`)
    .join(', ')

/** Renders the results page, in Markdown. @param commit the commit on which the run was done */
export function renderAbuseDocument(result: AbuseResult, commit: string): string {
  const brokenBounds = findBrokenBounds(result)
  return `# How abuse affects other clients

\`npm run abuse\` on commit ${commit}: two processes of each app behind the gateway, with Redis and production limits, for
${result.seconds} seconds, as fast as the load generator on the same machine could send. Expensive requests and the last three rows have bounds: at most
${MAX_EXPENSIVE_REQUESTS_PER_MINUTE} expensive requests a minute,
${MAX_INTROSPECTIONS_PER_MINUTE} introspections a minute, ${MAX_LOG_LINES_PER_SECOND} log lines a second, and no mail that a person asked for is lost.

${renderAbuseTable(result)}

${brokenBounds.length === 0 ? 'Nobody else was refused, and every bound held.' : brokenBounds.map((each) => `- ${each}`).join('\n')}
`
}
