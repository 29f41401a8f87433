import { type ProblemDocument, problemKind } from '@plainpath/http'
import { html, problemPage, renderPage } from '@plainpath/pages'

/** What a person sees instead of a problem document. */
export function errorPage(origin: string, problem: ProblemDocument): string {
  const { code, title, status, detail, instance: path } = problem
  const { meaning, remedy } = problemKind(code)
  const stated = detail === `${meaning} ${remedy}` ? meaning : detail
  const body = html`${problemPage({ origin, code, title, status, meaning: stated, remedy })}
<p class="facts">Request <code>${problem.request_id}</code></p>`
  return renderPage({ title, origin, path, body, noindex: true })
}
