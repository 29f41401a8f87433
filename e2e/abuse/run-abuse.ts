import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
// oxlint-disable-next-line no-restricted-imports -- a client sends at a pace
import { setTimeout as sleep } from 'node:timers/promises'
import { type MailServer, startMailServer } from '@plainpath/mail/testing'
import { waitUntil } from '@plainpath/stack/managed-process'
import { type Stack, startStack } from '@plainpath/stack/start-stack'
import { readMetric } from '../faults/read-operations.ts'
import { basic, createSender, form, type HttpRequest, json, type Sender } from '../send.ts'
import { createMailSettings } from '../verification-steps.ts'

/** The number of responses to one kind of request by status; 0 is no response. */
export type Statuses = Readonly<Record<number, number>>

export interface AbuseResult {
  /** The duration of the abuse. */
  readonly seconds: number
  /** The responses to requests with random tokens. */
  readonly badTokens: Statuses
  /** The responses to invented people who join the waitlist. */
  readonly joins: Statuses
  /** The responses to registrations and to verifications. */
  readonly verifications: Statuses
  /** The responses to requests for pages and parts of the API description that take long to create. */
  readonly expensiveRequests: Statuses
  /** The responses to the client whose token the API has introspected before the abuse. */
  readonly client: Statuses
  /** The responses to the reader without a token. */
  readonly anonymous: Statuses
  /** The number of introspections that the two API processes sent in total. */
  readonly introspections: number
  /** The number of lines that the four processes logged in total. */
  readonly logLines: number
  /** The number of mails that people at the flooded domain requested, and the number that arrived. */
  readonly requestedMails: number
  readonly deliveredMails: number
}

const ABUSER_ADDRESSES = Array.from({ length: 4 }, (_, index) => `127.0.1.${index + 1}`)
/** Each address may send 120 joins an hour. Together, they send more than the daily cap of mails to a domain. */
const JOINER_ADDRESSES = Array.from({ length: 20 }, (_, index) => `127.0.2.${index + 1}`)
/** The addresses that send expensive requests. */
export const PAGE_ADDRESSES = Array.from({ length: 4 }, (_, index) => `127.0.4.${index + 1}`)
const CLIENT_ADDRESS = '127.0.3.1'
const READER_ADDRESS = '127.0.3.2'
/** Used by the people who join before the abuse and ask to be removed after it. */
const PERSON_ADDRESS = '127.0.3.3'
/** 300 reads a minute. The quota of a client is 600. */
const CLIENT_INTERVAL_MS = 200
/** About 86 reads a minute. The quota of a caller without a token is 120. */
const READER_INTERVAL_MS = 700
const CONNECTIONS_PER_ADDRESS = 8
const FLOODED_DOMAIN = 'flooded.example'
const PEOPLE_COUNT = 5
const DELIVERY_TIMEOUT_MS = 60_000

/**
 * Starts two processes of each app with production limits, and abuses them for the given seconds.
 *
 * @throws {Error} if a person who joined before the abuse got no mail
 */
export async function runAbuse(options: {
  seconds: number
  folder: string
  print: (line: string) => void
}): Promise<AbuseResult> {
  const { seconds, folder, print } = options
  await using resources = new AsyncDisposableStack()
  const mailServer = resources.use(await startMailServer())
  const settings = createMailSettings(mailServer)
  const stack = resources.use(await startStack({ folder, limitsFactor: 1, settings, print }))
  const openSender = (from: string) => resources.use(createSender(stack.origin, { from }))

  const people = await joinPeople(stack, mailServer, openSender(PERSON_ADDRESS))
  const token = await requestToken(openSender(CLIENT_ADDRESS))
  await warmUp(openSender(CLIENT_ADDRESS), token)
  const linesBefore = await countLogLines(folder)
  const introspectionsBefore = await countIntrospections(stack)
  const endSignal = AbortSignal.timeout(seconds * 1_000)
  const [badTokens, joins, verifications, expensiveRequests, client, anonymous] = await Promise.all([
    flood(ABUSER_ADDRESSES.map(openSender), createReadWithRandomToken, endSignal),
    flood(JOINER_ADDRESSES.map(openSender), createInventedJoin, endSignal, 1),
    floodVerifications(ABUSER_ADDRESSES.map(openSender), endSignal),
    flood(PAGE_ADDRESSES.map(openSender), createExpensiveRequest, endSignal),
    sendAtPace(openSender(CLIENT_ADDRESS), () => createRead(token), CLIENT_INTERVAL_MS, endSignal),
    sendAtPace(openSender(READER_ADDRESS), () => ({ path: '/api/guides' }), READER_INTERVAL_MS, endSignal),
  ])
  const introspections = (await countIntrospections(stack)) - introspectionsBefore
  const logLines = (await countLogLines(folder)) - linesBefore
  return {
    seconds,
    badTokens,
    joins,
    verifications,
    expensiveRequests,
    client,
    anonymous,
    introspections,
    logLines,
    requestedMails: people.length,
    deliveredMails: await requestRemovals(mailServer, openSender(PERSON_ADDRESS), people),
  }
}

const createReadWithRandomToken = (): HttpRequest =>
  createRead(`ppt_${randomBytes(32).toString('base64url')}`)
const createRead = (token: string): HttpRequest => ({
  path: '/api/guides',
  headers: { authorization: `Bearer ${token}` },
})
const createInventedJoin = (): HttpRequest => createJoin(`${randomUUID()}@${FLOODED_DOMAIN}`)
const createJoin = (email: string): HttpRequest => ({
  method: 'POST',
  path: '/api/waitlist',
  ...json({ email }),
})

const EXPENSIVE_REQUESTS: readonly HttpRequest[] = [
  { path: '/search?q=aplication+tempory+gren+crad' },
  { method: 'POST', path: '/ask', ...form({ question: 'When do I renew my green card?' }) },
  { path: '/openapi.json?tag=Guides,Answers,Agents,OAuth' },
  { method: 'HEAD', path: '/openapi.json?tag=Guides,Answers,Agents,OAuth' },
]
/** Chooses one of `EXPENSIVE_REQUESTS` at random. */
const createExpensiveRequest = (): HttpRequest =>
  EXPENSIVE_REQUESTS[randomInt(EXPENSIVE_REQUESTS.length)] ?? { path: '/search' }

/** Returns the number of introspections that the API processes have sent since they started. */
async function countIntrospections({ resource }: Stack): Promise<number> {
  const counts = await Promise.all(resource.map((app) => readMetric(app, 'introspections_total')))
  return counts.reduce((sum, count) => sum + count, 0)
}

async function countLogLines(folder: string): Promise<number> {
  const files = (await readdir(folder)).filter((name) => /^(auth|resource)-.*\.log$/.test(name))
  const texts = await Promise.all(files.map((name) => readFile(path.join(folder, name), 'utf8')))
  return texts.reduce((sum, text) => sum + text.split('\n').length - 1, 0)
}

/** Keeps several connections of each sender busy: a connection sends its next request when it has received a response. */
async function flood(
  senders: readonly Sender[],
  createRequest: () => HttpRequest,
  endSignal: AbortSignal,
  connections = CONNECTIONS_PER_ADDRESS,
): Promise<Statuses> {
  const statuses = new StatusCounter()
  const loops = senders.flatMap((sender) =>
    Array.from({ length: connections }, async () => {
      while (!endSignal.aborted) await statuses.count(sender.send(createRequest()))
    }),
  )
  await Promise.all(loops)
  return statuses.counts
}

/**
 * Registers clients from each address, and lets each client begin verifications of invented mailboxes. An address has only one of
 * these requests in flight at a time.
 */
async function floodVerifications(senders: readonly Sender[], endSignal: AbortSignal): Promise<Statuses> {
  const statuses = new StatusCounter()
  const loops = senders.map(async (sender) => {
    while (!endSignal.aborted) {
      const registration = await statuses.count(sender.send(createRegistration()))
      if (registration?.status !== 201) {
        // An address may register only 20 agents in ten minutes, so most registrations are refused.
        await sleep(100)
        continue
      }
      const { client_id: id, client_secret: secret } = JSON.parse(registration.text) as Record<string, string>
      for (let verificationCount = 0; verificationCount < 10 && !endSignal.aborted; verificationCount += 1) {
        const verification = json({ email: `${randomUUID()}@invented.example` })
        const headers = { ...verification.headers, ...basic(id ?? '', secret ?? '') }
        await statuses.count(
          sender.send({ method: 'POST', path: '/api/agent/claim', body: verification.body, headers }),
        )
      }
    }
  })
  await Promise.all(loops)
  return statuses.counts
}

const createRegistration = (): HttpRequest => ({
  method: 'POST',
  path: '/api/agent/register',
  ...json({ client_name: 'An agent' }),
})

/** Sends at a fixed interval, without waiting for responses. */
async function sendAtPace(
  sender: Sender,
  createRequest: () => HttpRequest,
  intervalMs: number,
  endSignal: AbortSignal,
): Promise<Statuses> {
  const statuses = new StatusCounter()
  const pending: Promise<unknown>[] = []
  while (!endSignal.aborted) {
    pending.push(statuses.count(sender.send(createRequest())))
    await sleep(intervalMs)
  }
  await Promise.all(pending)
  return statuses.counts
}

class StatusCounter {
  readonly counts: Record<number, number> = {}

  /** Counts a response by its status. Returns the response; undefined if there was none. */
  async count<Received extends { readonly status: number }>(
    response: Promise<Received>,
  ): Promise<Received | undefined> {
    // A request that fails, for example by a time-out, counts as one without a response (status 0).
    const received = await response.catch(() => undefined)
    const status = received?.status ?? 0
    this.counts[status] = (this.counts[status] ?? 0) + 1
    return received
  }
}

/** Registers a client. Returns a token for it. */
async function requestToken(sender: Sender): Promise<string> {
  const { client_id: id = '', client_secret: secret = '' } = await parseResponse(
    sender.send(createRegistration()),
  )
  const grant = form({ grant_type: 'client_credentials' })
  const headers = { ...grant.headers, ...basic(id, secret) }
  const { access_token: token = '' } = await parseResponse(
    sender.send({ method: 'POST', path: '/oauth/token', body: grant.body, headers }),
  )
  return token
}

const parseResponse = async (response: Promise<{ readonly text: string }>) =>
  JSON.parse((await response).text) as Record<string, string>

/** Uses the token so often that both processes of the API should have introspected it. */
async function warmUp(sender: Sender, token: string): Promise<void> {
  for (let index = 0; index < 20; index += 1) await sender.send(createRead(token))
}

/** Lets people at the domain join, and waits until each has received a mail. Returns their addresses. */
async function joinPeople(stack: Stack, mailServer: MailServer, sender: Sender): Promise<string[]> {
  const people = Array.from({ length: PEOPLE_COUNT }, () => `${randomUUID()}@${FLOODED_DOMAIN}`)
  for (const email of people) {
    await sender.send(createJoin(email))
    if (!(await waitUntil(() => countMails(mailServer, email) > 0, DELIVERY_TIMEOUT_MS)))
      throw new Error(`a person who joined at ${stack.origin} got no mail`)
  }
  return people
}

const countMails = ({ received }: MailServer, email: string) =>
  received.filter(({ to }) => to.includes(email)).length

/**
 * Requests the removal of these people from the waitlist, after the joins have used up their domain's cap. Returns how
 * many received the mail.
 */
async function requestRemovals(
  mailServer: MailServer,
  sender: Sender,
  people: readonly string[],
): Promise<number> {
  for (const email of people)
    await sender.send({ method: 'POST', path: '/api/waitlist/forget', ...json({ email }) })
  // Each person has already received the mail about joining, so the second mail is that about the removal.
  await waitUntil(() => people.every((email) => countMails(mailServer, email) > 1), DELIVERY_TIMEOUT_MS)
  return people.filter((email) => countMails(mailServer, email) > 1).length
}
