import { createMetrics, type Metrics } from '@plainpath/http'
import { type ChatHosts, listRedirectLabels } from './app-clients/chat-hosts.ts'
import { DOCUMENT_OUTCOMES } from './client-documents/document-fetcher.ts'
import { type AuthEvents, SIGN_IN_OUTCOMES } from './events.ts'

/**
 * Creates the metrics, and counts the server's events in them. Other modules count requests, limits and mail. Two metrics keep the
 * names of older releases: `revocation_announcement_seconds` measures publications of revocations, and
 * `revocation_members_struck_off_total` counts subscribers that were removed.
 */
export function createAuthMetrics(events: AuthEvents, chatHosts: ChatHosts): Metrics {
  const metrics = createMetrics('auth')
  const countIssued = metrics.createCounter(
    'tokens_issued_total',
    'Tokens issued, under each of their scopes',
    ['scope'],
  )
  const observePublication = metrics.createHistogram(
    'revocation_announcement_seconds',
    'Time from a revocation until the last API acknowledged it or its lease expired',
    [0.002, 0.005, 0.01, 0.05, 0.25, 1, 2.5],
  )
  const countRemoved = metrics.createCounter(
    'revocation_members_struck_off_total',
    'API processes that did not acknowledge a revocation within a lease',
  )
  const countFetch = metrics.createLabelledCounter(
    'client_document_fetches_total',
    'Fetches of documents of URL clients, by how they ended',
    'outcome',
    DOCUMENT_OUTCOMES,
  )
  const countSignIn = metrics.createCounter(
    'sign_ins_total',
    'Sign-ins of people with apps, and the codes for them, by host and outcome',
    ['host', 'outcome'],
    listRedirectLabels(chatHosts).flatMap((host) => SIGN_IN_OUTCOMES.map((outcome) => ({ host, outcome }))),
  )
  events.on('sign-in', countSignIn)
  const countRegistration = metrics.createLabelledCounter(
    'app_registrations_total',
    'Registrations of apps that people connect from, by host; loopback for programs that name no host',
    'host',
    [...listRedirectLabels(chatHosts), 'refused'],
  )
  events.on('app-registration', ({ host }) => countRegistration(host))
  events.on('document-fetched', ({ outcome }) => countFetch(outcome))
  events.on('token-issued', ({ scopes }) => {
    for (const scope of scopes) countIssued({ scope })
  })
  events.on('revocation-published', ({ seconds, removedCount }) => {
    observePublication(seconds)
    for (let count = 0; count < removedCount; count += 1) countRemoved()
  })
  events.on('swept', ({ sweep }) => metrics.recordSweep(sweep))
  return metrics
}
