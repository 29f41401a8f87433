export { OFFICIAL_LISTS, PREPARE_FOR_ATTORNEY } from './attorney-help.ts'
export {
  type AgentOnPage,
  type ClaimQuestionPage,
  type ClosedClaim,
  claimCodePage,
  claimQuestionPage,
  closedClaimPage,
  closedClaimTitle,
  endClaimPage,
  endedClaimPage,
  noClaimPage,
} from './claim-pages.ts'
export { type ContactField, contactMailedPage, contactPage } from './contact-page.ts'
export { type GuideOnPage, guidePage } from './guide-page.ts'
export { type HomePage, homePage } from './home-page.ts'
export { type Html, html, markupOf, rawHtml } from './html.ts'
export { linkDonePage, linkPage } from './link-page.ts'
export { longDate } from './long-date.ts'
export {
  changelogPage,
  privacyPage,
  termsPage,
} from './policy-pages.ts'
export { problemPage } from './problem-page.ts'
export {
  type ReferenceAnswer,
  type ReferenceField,
  type ReferenceOperation,
  type ReferencePage,
  referencePage,
} from './reference-page.ts'
export { PAGE_CSP, type Page, renderPage } from './render-page.ts'
export { searchBox, searchPage } from './search-page.ts'
export { STYLESHEET } from './stylesheet.ts'
export {
  alreadyJoinedPage,
  joinedPage,
  waitlistForm,
  waitlistPage,
} from './waitlist-page.ts'
