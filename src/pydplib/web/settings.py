"""Django's settings, all derived from the configuration; nothing here is to be edited by operators."""

from __future__ import annotations

from csp.constants import NONE, SELF

from pydplib.web.configuration import Configuration

CONFIGURATION = Configuration.from_environment()

SECRET_KEY = CONFIGURATION.key("sessions").decode()
DEBUG = False
ALLOWED_HOSTS = list(CONFIGURATION.hosts)
DATABASES = {"default": CONFIGURATION.database}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.forms",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "pydplib.web.design",
    "pydplib.web.auditlog",
    "pydplib.web.people",
    "pydplib.web.projects",
    "pydplib.web.reporting",
    "pydplib.web.intake",
    "pydplib.web.tables",
    "pydplib.web.ledger",
    "pydplib.web.analyses",
    "pydplib.web.dashboards",
    "pydplib.web.exports",
    "pydplib.web.synthetic",
    "pydplib.web.attacks",
    "pydplib.web.api",
    "pydplib.web.notices",
]

MIDDLEWARE = [
    "pydplib.web.middleware.SecurityHeaders",  # outermost: errors and static files get the headers too
    "pydplib.web.middleware.HealthCheck",  # before anything asks for the name of the host
    "pydplib.web.middleware.ReadableAddresses",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "pydplib.web.people.sign_in.middleware.SessionLimits",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "pydplib.web.middleware.DomainErrors",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "pydplib.web.urls"
WSGI_APPLICATION = "pydplib.web.wsgi.application"
APPEND_SLASH = False  # addresses are /reports and /reports/<id>, without a slash at the end

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "pydplib.web.navigation.context",
            ],
        },
    }
]
FORM_RENDERER = "pydplib.web.design.forms.Renderer"

# Who somebody is.
AUTH_USER_MODEL = "people.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "pydplib.web.people.sign_in.passwords.SimplePatternValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ("username", "full_name")},
    },
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
OTP_TOTP_ISSUER = "pydplib"
# sign_in.rate_limits counts codes; an endless lock would help whoever steals a password
OTP_TOTP_THROTTLE_FACTOR = 0
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_USERNAME_CALLABLE = "pydplib.web.people.sign_in.steps.lockout_name"  # "Ada" and "ada" are one user
AXES_LOCKOUT_CALLABLE = "pydplib.web.people.views_entry.locked"
AXES_WHITELIST_CALLABLE = "pydplib.web.people.sign_in.known_browsers.counts_apart"  # those have a limit of their own
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_DISABLE_ACCESS_LOG = True  # the audit log has it
AXES_SENSITIVE_PARAMETERS = ["username", "password", "again", "current", "code", "next", "csrfmiddlewaretoken"]
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False

# Cookies: the strict names and flags need https; on loopback they are plain.
_TLS = CONFIGURATION.behind_tls
SESSION_ENGINE = "django.contrib.sessions.backends.db"
# Browsers do not tell ports apart: the demonstration must not sign anybody out of a real server next to it.
_COOKIES = "__Host-" if _TLS else "demo-" if CONFIGURATION.demo else ""
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"{_COOKIES}session", f"{_COOKIES}csrf"
KNOWN_BROWSER_COOKIE_NAME = f"{_COOKIES}known"  # people.sign_in.known_browsers
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _TLS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
SESSION_COOKIE_AGE = 12 * 3600  # of the row in the database
CSRF_COOKIE_AGE = None  # gone with the browser, like the session
CSRF_FAILURE_VIEW = "pydplib.web.pages.csrf_failure"
SESSION_IDLE_MINUTES = 30  # people.sign_in.middleware.SessionLimits
SESSION_ABSOLUTE_HOURS = 12
REAUTHENTICATION_MINUTES = 5
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"

# Transport and headers.
if _TLS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS = 31_536_000
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:", "blob:"],
        "connect-src": [SELF],
        "font-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
        "object-src": [NONE],
    }
}

STATIC_URL = "/static/"
STATIC_ROOT = CONFIGURATION.folder("static")  # `pydplib serve` fills it (pydplib.web.design.storage)
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "pydplib.web.design.storage.CollectedFiles"},
}
WHITENOISE_USE_FINDERS = True  # also straight from the package: a page works before anything was collected
WHITENOISE_AUTOREFRESH = False
WHITENOISE_ALLOW_ALL_ORIGINS = False

# Uploads: what does not fit is refused before it is read.
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_500_000
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5_000
DATA_UPLOAD_MAX_NUMBER_FILES = 1
FILE_UPLOAD_MAX_MEMORY_SIZE = 1_000_000
FILE_UPLOAD_PERMISSIONS = 0o600
FILE_UPLOAD_TEMP_DIR = CONFIGURATION.folder("uploads")  # rows of patients: nowhere that others can read
FILE_UPLOAD_HANDLERS = [
    "pydplib.web.uploads.QuotaUploadHandler",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

# Logs name what happened and where, never what was sent.
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {
            "()": "pydplib.web.logs.QuietFormatter",
            "format": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        }
    },
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "plain"},
        "nowhere": {"class": "logging.NullHandler"},
    },
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "django.request": {"handlers": ["stderr"], "level": "ERROR", "propagate": False},
        "django.server": {"handlers": ["stderr"], "level": "WARNING", "propagate": False},
        "django.security.DisallowedHost": {"handlers": ["nowhere"], "propagate": False},  # scanners; answered with 400
        "waitress.queue": {"handlers": ["stderr"], "level": "ERROR", "propagate": False},
        "axes": {"handlers": ["stderr"], "level": "ERROR", "propagate": False},
    },
}
DEFAULT_EXCEPTION_REPORTER_FILTER = "django.views.debug.SafeExceptionReporterFilter"
SILENCED_SYSTEM_CHECKS = ["auth.W004"]  # names are unique: by a constraint that ignores case
