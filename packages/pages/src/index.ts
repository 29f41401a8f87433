export { answeredPage, askPage, noAnswersPage } from './ask-page.ts'
export { PREPARE_FOR_ATTORNEY, REPLY, replyHelp } from './attorney-help.ts'
export {
  type AgentOnPage,
  claimCodePage,
  claimQuestionPage,
  closedClaimPage,
  closedClaimTitle,
  endClaimPage,
  endedClaimPage,
  noClaimPage,
} from './claim-pages.ts'
export {
  alreadyJoinedPage,
  type ContactField,
  contactMailedPage,
  contactPage,
  joinedPage,
  linkDonePage,
  linkPage,
  waitlistPage,
} from './form-pages.ts'
export { guidePage, staleNotice } from './guide-page.ts'
export { type HomePage, homePage } from './home-page.ts'
export { type Html, html, markupOf, rawHtml } from './html.ts'
export { longDate } from './long-date.ts'
export { changelogPage, privacyPage, termsPage } from './policy-pages.ts'
export { problemPage } from './problem-page.ts'
export { PAGE_CSP, type Page, renderPage, STYLESHEET } from './render-page.ts'
export { searchPage } from './search-page.ts'
