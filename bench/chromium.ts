/** Path of Chromium. */
export const CHROMIUM = process.env.CHROMIUM_PATH ?? "/usr/bin/chromium";

/** A spare renderer, and pages of the address bar: they triple a tab's cost. */
const COSTLY = ["SpareRendererForSitePerProcess", "WebUIOmniboxPopup", "WebUIOmniboxAimPopup"];

/** Playwright's own list, repeated because Chromium only uses the last one. */
const BY_PLAYWRIGHT = [
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "PaintHolding",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
];

export const CHROMIUM_ARGS = [
  "--no-sandbox",
  "--disable-quic",
  "--disable-background-networking",
  `--disable-features=${[...COSTLY, ...BY_PLAYWRIGHT].join()}`,
];
