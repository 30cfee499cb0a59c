// Opens shared reports in a browser and holds them to what they promise. .ci/pages starts the service and runs this.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import axe from "axe-core";
import { chromium } from "playwright-core";

const { EARSHOT_URL: base, EARSHOT_TOKEN: token, OUT: out, LOG: log, CHROMIUM: executablePath } = process.env;

async function call(method, path, body) {
  const answer = await fetch(base + path, {
    method,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

const report = async (body, components) => {
  const { id } = await call("POST", "/v3/reports", body);
  if (components) await call("PUT", `/v3/reports/${id}/components`, { components });
  return id;
};
const share = async (id, how = {}) => (await call("POST", `/v3/reports/${id}/share`, how)).public_link;

// The questions of the invented feedback, by type.
const { data: carriers } = await call("GET", "/v4/carriers?limit=100");
const question = (type) => carriers.flatMap((c) => c.questions).find((q) => q.type === type).id;

const standard = await report({ name: "Customer experience", format: "prefilled" });
const full = await report({ name: "What our customers say", color: "teal", fql: [{ TimePeriod: { $btw: ["2025-11-01", "2026-10-31"] } }] }, [
  { type: "kpi", options: { metric: "count" } },
  { type: "kpi", options: { metric: "nps" } },
  { type: "kpi", options: { metric: "satisfaction" } },
  { type: "kpi", options: { metric: "completion" } },
  { type: "trend", title: "NPS, month by month", options: { metric: "nps" } },
  { type: "trend", options: { metric: "count", interval: "week" } },
  { type: "trend", title: "Every single day", options: { metric: "count", interval: "day" } },
  { type: "breakdown", options: { by: "attribute:country", metric: "nps" } },
  { type: "breakdown", options: { by: "source" } },
  { type: "distribution", options: { question_id: question("nps") } },
  { type: "distribution", options: { question_id: question("smiley") } },
  { type: "breakdown", options: { by: `question:${question("choice")}` } },
  { type: "breakdown", options: { by: "attribute:product", metric: "satisfaction" } },
  { type: "verbatims", title: "In their words", options: { limit: 9 } },
]);
const links = {
  standard: await share(standard),
  full: await share(full),
  private: await share(full, { hide_verbatims: true, minimum_group_size: 50 }),
  empty: await share(await report({ name: "Not begun yet" })),
  refused: `${base}/report/${full}/shareable?token=none`,
};

const sizes = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 }, narrow: { width: 360, height: 740 }, wall: { width: 2560, height: 1440 } };
const browser = await chromium.launch({ executablePath, args: process.getuid() === 0 ? ["--no-sandbox"] : [] });

// open shows a page and fails on anything that it asks for elsewhere, tells anybody about itself, or complains of.
async function open(name, { size = "desktop", colorScheme = "light", locale = "en", javaScriptEnabled = true } = {}) {
  const context = await browser.newContext({ viewport: sizes[size], colorScheme, locale, javaScriptEnabled });
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && name !== "refused" && wrong.push(m.text()));
  page.on("pageerror", (e) => wrong.push(String(e)));
  page.on("request", (r) => {
    if (!r.url().startsWith(base + "/") && !r.url().startsWith("data:")) wrong.push(`asks for ${r.url()}`);
    if (r.headers().referer) wrong.push(`tells ${r.url()} where it was`);
  });
  const answer = await page.goto(links[name]);
  assert.equal(answer.status(), name === "refused" ? 404 : 200, name);
  assert.deepEqual(wrong, [], name);
  return { context, page };
}

let checked = 0;
const two = [{}, { size: "narrow", colorScheme: "dark", locale: "de" }];
const all = [...two, { colorScheme: "dark" }, { size: "phone" }, { size: "wall", locale: "fr" }];
for (const name of Object.keys(links)) {
  for (const how of name === "full" ? all : two) {
    const { context, page } = await open(name, how);
    const label = `${name} ${JSON.stringify(how)}`;
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(over <= 0, `${label} is ${over} px too wide`);
    await page.evaluate(() => document.querySelectorAll("details").forEach((d) => (d.open = true)));
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate(() => window.axe.run(document));
    assert.deepEqual(violations.map((v) => [v.id, v.nodes.map((n) => n.html)]), [], label);
    assert.equal(await page.getAttribute("html", "lang"), how.locale ?? "en", label);
    checked++;
    await context.close();
  }
}

// Without script it is the same page, and the keyboard opens a table.
{
  const { context, page } = await open("full", { javaScriptEnabled: false });
  const summary = page.locator("summary").first();
  await summary.focus();
  await page.keyboard.press("Enter");
  await page.locator("details[open] table").first().waitFor({ state: "visible", timeout: 5000 });
  assert.equal(await page.locator("main svg[role=img]").count(), 5);
  await context.close();
}

for (const [file, name, how, height] of [
  ["docs-light", "full", {}, 1306],
  ["docs-phone-dark", "full", { size: "phone", colorScheme: "dark" }, 1236],
  ["report-light", "full", {}],
  ["report-dark", "full", { colorScheme: "dark" }],
  ["report-phone-dark", "full", { size: "phone", colorScheme: "dark" }],
  ["report-wall", "full", { size: "wall" }],
  ["report-private", "private", {}],
  ["report-standard", "standard", {}],
  ["report-empty", "empty", { size: "phone" }],
  ["report-refused", "refused", { size: "phone" }],
]) {
  const { context, page } = await open(name, how);
  const clip = height && { x: 0, y: 0, width: page.viewportSize().width, height };
  await page.screenshot({ path: `${out}/${file}.png`, fullPage: true, clip });
  await context.close();
}

// On paper: A4, whether the reader prints it or the service does.
{
  const { context, page } = await open("full", { colorScheme: "dark" });
  const printed = await page.pdf({ preferCSSPageSize: true });
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByText("Download as PDF").click()]);
  assert.equal(download.suggestedFilename(), "What our customers say.pdf");
  await download.saveAs(`${out}/report.pdf`);
  const pages = (pdf) => pdf.toString("latin1").match(/\/MediaBox \[0 0 [\d.]+ [\d.]+\]/g) ?? [];
  for (const boxes of [pages(printed), pages(readFileSync(`${out}/report.pdf`))]) {
    assert.ok(boxes.length >= 2 && boxes.every((b) => /59[45][\d.]* 84[12]/.test(b)), `pages ${boxes}`);
    assert.equal(boxes.length, pages(printed).length, "the service prints other pages than the reader");
  }
  // What the paper looks like, at the width of A4 between its margins.
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: 703, height: 1000 });
  await page.screenshot({ path: `${out}/report-print.png`, fullPage: true });
  await context.close();
}
await browser.close();

for (const link of Object.values(links)) {
  assert.ok(!readFileSync(log, "utf8").includes(new URL(link).searchParams.get("token").padEnd(20, "-")), "the log shows a token");
}
console.log(`${checked} pages without a finding; pictures in ${out}`);
