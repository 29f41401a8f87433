import { createMetrics } from '@plainpath/http'
import { type ChatHosts, redirectLabels } from './app-clients/chat-hosts.ts'
import { DOCUMENT_OUTCOMES } from './client-documents/document-fetcher.ts'
import { type AuthEvents, SIGN_IN_OUTCOMES } from './events.ts'

/** What the authorization server counts by its events, beside its requests, limits and mail. */
export function openMetrics(events: AuthEvents, chatHosts: ChatHosts) {
  const metrics = createMetrics('auth')
  const issued = metrics.counter('tokens_issued_total', 'Tokens issued, under each of their scopes', [
    'scope',
  ])
  const seconds = metrics.histogram(
    'revocation_announcement_seconds',
    'Time from a revocation until the last API acknowledged it or its lease expired',
    [0.002, 0.005, 0.01, 0.05, 0.25, 1, 2.5],
  )
  const silent = metrics.counter(
    'revocation_members_struck_off_total',
    'API processes that did not acknowledge a revocation within a lease',
  )
  const countFetch = metrics.counters(
    'client_document_fetches_total',
    'Fetches of documents of URL clients, by how they ended',
    'outcome',
    DOCUMENT_OUTCOMES,
  )
  const signIns = metrics.counter(
    'sign_ins_total',
    'Sign-ins of people with apps, and the codes for them, by host and outcome',
    ['host', 'outcome'],
    redirectLabels(chatHosts).flatMap((host) => SIGN_IN_OUTCOMES.map((outcome) => ({ host, outcome }))),
  )
  events.on('sign-in', signIns)
  const countRegistration = metrics.counters(
    'app_registrations_total',
    'Registrations of apps that people connect from, by host; loopback for programs that name no host',
    'host',
    [...redirectLabels(chatHosts), 'refused'],
  )
  events.on('app-registered', ({ host }) => countRegistration(host))
  events.on('document-fetched', ({ outcome }) => countFetch(outcome))
  events.on('token-issued', ({ scopes }) => {
    for (const scope of scopes) issued({ scope })
  })
  events.on('revocation-published', (published) => {
    seconds(published.seconds)
    for (let each = 0; each < published.removed; each += 1) silent()
  })
  events.on('swept', ({ what }) => metrics.swept(what))
  return metrics
}
