export { attorneyHelp, OFFICIAL_LISTS, officialLists, PREPARE_FOR_ATTORNEY } from './attorney-help.ts'
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
export { type ContactField, type ContactForm, contactMailedPage, contactPage } from './contact-page.ts'
export { type GuideOnPage, guidePage } from './guide-page.ts'
export { type HomePage, homePage } from './home-page.ts'
export { type Html, type HtmlValue, html, markupOf, rawHtml } from './html.ts'
export { type LinkPage, linkDonePage, linkPage } from './link-page.ts'
export { longDate } from './long-date.ts'
export {
  type ChangelogPage,
  changelogPage,
  type PrivacyPage,
  privacyPage,
  termsPage,
} from './policy-pages.ts'
export { type ProblemPage, problemPage } from './problem-page.ts'
export {
  type ReferenceAnswer,
  type ReferenceField,
  type ReferenceOperation,
  type ReferencePage,
  referencePage,
} from './reference-page.ts'
export { PAGE_CSP, type Page, renderPage } from './render-page.ts'
export { type SearchPage, searchBox, searchPage } from './search-page.ts'
export { STYLESHEET } from './stylesheet.ts'
export {
  alreadyJoinedPage,
  joinedPage,
  type WaitlistForm,
  waitlistForm,
  waitlistPage,
} from './waitlist-page.ts'
