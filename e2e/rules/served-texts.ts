import { exampleMails as mailsOfAuth } from '@plainpath/auth/example-mails'
import { PROBLEM_CODES, problemKind } from '@plainpath/http'
import { agentCommands, authDocuments, RETENTION, resourceDocuments, serviceUrls } from '@plainpath/metadata'
import * as pages from '@plainpath/pages'
import { exampleMails as mailsOfResource } from '@plainpath/resource/example-mails'

const URLS = serviceUrls('https://plainpath.example')
const CONFIG = {
  attorneyLists: ['https://lists.example'],
  builtAt: new Date('2026-11-20T12:00:00Z'),
  securityContact: 'mailto:security@plainpath.example',
  guides: () => [],
}
const AGENT = { name: 'Atlas', registered: '2026-11-20' }
const APP = { name: 'Claude', appHost: 'claude.ai', registered: '2026-11-20' }
const SIGN_IN = {
  action: '/oauth/sign-in/uid',
  token: 'token',
  app: { name: 'Claude', place: { kind: 'computer' }, clientHost: 'claude.ai' },
} as const
const QUESTION = { secret: 'secret', matchPhrase: 'amber river', agent: AGENT }
const CLOSED = [
  'unknown',
  'completed',
  'locked',
  'declined',
  'expired',
  'superseded',
  'failed',
  'no-codes-left',
] as const

/** What people and agents are given to read, by what it is. */
export function servedTexts(): Record<string, string> {
  const documents = [...authDocuments(URLS), ...resourceDocuments(URLS, CONFIG)]
  const bodies: Record<string, pages.Html> = {
    privacy: pages.privacyPage(RETENTION),
    terms: pages.termsPage('0.1.0'),
    getHelp: pages.getHelpPage(),
    getHelpInSpanish: pages.spanishHelpPage(),
    guides: pages.guidesPage([]),
    contact: pages.contactPage(),
    contactMailed: pages.contactMailedPage(),
    waitlist: pages.waitlistPage({}),
    joined: pages.joinedPage({ referralUrl: 'https://plainpath.example' }),
    alreadyJoined: pages.alreadyJoinedPage(),
    claimQuestion: pages.claimQuestionPage({ ...QUESTION, codesLeft: 1, shown: true }),
    claimWithoutCodes: pages.claimQuestionPage({ ...QUESTION, codesLeft: 0, shown: true }),
    claimCode: pages.claimCodePage({ ...QUESTION, codesLeft: 1, code: '493027' }),
    endClaim: pages.endClaimPage({
      secret: 'secret',
      agent: AGENT,
      since: '2026-11-20',
      until: '2026-12-20',
    }),
    endedClaim: pages.endedClaimPage(),
    lentAccess: pages.lentAccessPage({
      secret: 'secret',
      lent: [AGENT, APP].map((agent) => ({
        secret: 'secret',
        agent,
        since: '2026-11-20',
        until: '2026-12-20',
      })),
    }),
    alreadyEnded: pages.alreadyEndedPage(),
    connect: pages.connectPage({ signedIn: 'https://plainpath.example/mcp', open: undefined, documents: [] }),
    signIn: pages.signInPage({ ...SIGN_IN, lastCode: 'locked' }),
    signInCode: pages.signInCodePage({
      ...SIGN_IN,
      email: 'ana@example.org',
      attempt: 'cla_x',
      codesLeft: 1,
    }),
    signInTooSoon: pages.signInCodePage({
      ...SIGN_IN,
      email: 'ana@example.org',
      attempt: 'cla_x',
      codesLeft: 1,
      isTooSoon: true,
    }),
    signInWithoutCodes: pages.noCodesLeftPage({ ...SIGN_IN, canStillType: true }),
    signInAllowed: pages.allowedPage(SIGN_IN),
    noSignIn: pages.noSignInPage(),
    brokenEndLink: pages.brokenEndLinkPage(),
    ...Object.fromEntries(CLOSED.map((why) => [`claim ${why}`, pages.closedClaimPage(why)])),
  }
  return {
    ...Object.fromEntries(
      documents.map(({ path, content }) => [path, typeof content === 'string' ? content : content()]),
    ),
    ...Object.fromEntries(
      Object.entries(bodies).map(([name, body]) => [`page ${name}`, pages.markupOf(body)]),
    ),
    ...Object.fromEntries(
      PROBLEM_CODES.map((code) => [`problem ${code}`, JSON.stringify(problemKind(code))]),
    ),
    ...Object.fromEntries(
      [...mailsOfAuth(), ...mailsOfResource()].map(({ subject, text }, index) => [
        `mail ${index}: ${subject}`,
        text,
      ]),
    ),
    commands: agentCommands(URLS)
      .map(({ does }) => does)
      .join('\n'),
  }
}
