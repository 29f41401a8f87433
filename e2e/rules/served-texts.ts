import { composeExampleMails as composeAuthExampleMails } from '@plainpath/auth/example-mails'
import { getProblemKind, PROBLEM_CODES } from '@plainpath/http'
import {
  createAuthDocuments,
  createResourceDocuments,
  createServiceUrls,
  listAgentShellCommands,
  RETENTION,
} from '@plainpath/metadata'
import * as pages from '@plainpath/pages'
import { composeExampleMails as composeResourceExampleMails } from '@plainpath/resource/example-mails'

const URLS = createServiceUrls('https://plainpath.example')
const CONFIG = {
  attorneyLists: ['https://lists.example'],
  startedAt: new Date('2026-11-20T12:00:00Z'),
  securityContact: 'mailto:security@plainpath.example',
  listGuides: () => [],
}
const AGENT = { name: 'Atlas', registered: '2026-11-20' }
const APP = { name: 'Claude', appHost: 'claude.ai', registered: '2026-11-20' }
const SIGN_IN = {
  action: '/oauth/sign-in/uid',
  token: 'token',
  app: { name: 'Claude', destination: { kind: 'loopback' }, clientHost: 'claude.ai' },
} as const
const QUESTION = { secret: 'secret', matchPhrase: 'amber river', agent: AGENT }
const CLOSED_REASONS = [
  'unknown',
  'completed',
  'locked',
  'declined',
  'expired',
  'superseded',
  'failed',
  'no-codes-left',
] as const

/**
 * Renders the texts that may state a figure from `RULES`, keyed by name: documents, the pages that state rules, problems, mails, and
 * the descriptions of the shell commands. `stated-rules.process.test.ts` searches these texts for the figures of `RULES`. Add a page
 * here when it states a rule.
 */
export function renderServedTexts(): Record<string, string> {
  const documents = [...createAuthDocuments(URLS), ...createResourceDocuments(URLS, CONFIG)]
  const bodies: Record<string, pages.Html> = {
    privacy: pages.renderPrivacyPage(RETENTION),
    terms: pages.renderTermsPage('0.1.0'),
    getHelp: pages.renderGetHelpPage(),
    getHelpInSpanish: pages.renderSpanishHelpPage(),
    guides: pages.renderGuidesPage([]),
    contact: pages.renderContactPage(),
    contactMailed: pages.renderContactMailedPage(),
    waitlist: pages.renderWaitlistPage({}),
    joined: pages.renderJoinedPage({ referralUrl: 'https://plainpath.example' }),
    alreadyJoined: pages.renderAlreadyJoinedPage(),
    verificationQuestion: pages.renderVerificationQuestionPage({
      ...QUESTION,
      codesLeft: 1,
      wasCodeShown: true,
    }),
    verificationWithoutCodes: pages.renderVerificationQuestionPage({
      ...QUESTION,
      codesLeft: 0,
      wasCodeShown: true,
    }),
    verificationCode: pages.renderVerificationCodePage({ ...QUESTION, codesLeft: 1, code: '493027' }),
    revokeAccess: pages.renderRevokeAccessPage({
      secret: 'secret',
      agent: AGENT,
      since: '2026-11-20',
      until: '2026-12-20',
    }),
    revokedAccess: pages.renderRevokedAccessPage(),
    grantedAccess: pages.renderGrantedAccessPage({
      secret: 'secret',
      accesses: [AGENT, APP].map((agent) => ({
        secret: 'secret',
        agent,
        since: '2026-11-20',
        until: '2026-12-20',
      })),
    }),
    alreadyRevoked: pages.renderAlreadyRevokedPage(),
    justRevoked: pages.renderAlreadyRevokedPage({ secretToRepeat: 'secret' }),
    connect: pages.renderConnectPage({
      signedInUrl: 'https://plainpath.example/mcp',
      publicUrl: undefined,
      documents: [],
    }),
    signIn: pages.renderSignInPage({ ...SIGN_IN, lastCodeState: 'locked' }),
    signInCode: pages.renderSignInCodePage({
      ...SIGN_IN,
      email: 'ana@example.org',
      attempt: 'cla_x',
      codesLeft: 1,
    }),
    signInTooSoon: pages.renderSignInCodePage({
      ...SIGN_IN,
      email: 'ana@example.org',
      attempt: 'cla_x',
      codesLeft: 1,
      isTooSoon: true,
    }),
    signInWithoutCodes: pages.renderNoCodesLeftPage({ ...SIGN_IN, canStillType: true }),
    signInAllowed: pages.renderAllowedPage(SIGN_IN),
    noSignIn: pages.renderNoSignInPage(),
    brokenRevokeLink: pages.renderBrokenRevokeLinkPage(),
    ...Object.fromEntries(
      CLOSED_REASONS.map((reason) => [
        `closedVerification: ${reason}`,
        pages.renderClosedVerificationPage(reason),
      ]),
    ),
  }
  return {
    ...Object.fromEntries(
      documents.map(({ path, content }) => [path, typeof content === 'string' ? content : content()]),
    ),
    ...Object.fromEntries(
      Object.entries(bodies).map(([name, body]) => [`page ${name}`, pages.toMarkup(body)]),
    ),
    ...Object.fromEntries(
      PROBLEM_CODES.map((code) => [`problem ${code}`, JSON.stringify(getProblemKind(code))]),
    ),
    ...Object.fromEntries(
      [...composeAuthExampleMails(), ...composeResourceExampleMails()].map(({ subject, text }, index) => [
        `mail ${index}: ${subject}`,
        text,
      ]),
    ),
    commands: listAgentShellCommands(URLS)
      .map(({ description }) => description)
      .join('\n'),
  }
}
